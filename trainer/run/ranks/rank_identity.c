/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the tasks of run.json, the cluster spec, the launcher's environment and MPI. */
#include "src/base.h"
#include "trainer/run/ranks/ranks.h"

#include <arpa/inet.h>
#include <sched.h>

#include "src/cluster/connection.h"

/* The variables of launchers, of which the first pair that is set is used: mpirun within a Slurm
 * job starts its daemons by srun, whose variables do not describe the ranks. PMIx alone sets no
 * size. */
static const struct { const char *size, *rank; } launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
};

struct launcher {
    const char *size_name, *rank_name; /* NULL: started without a launcher */
    int size, rank;
};

/* Returns an integer of 0 or more from the environment, or -1. */
static int env_int(const char *name)
{
    const char *text = getenv(name);
    char *end;

    if (!text || !*text)
        return -1;
    long v = strtol(text, &end, 10);
    return *end || v < 0 || v > INT_MAX ? -1 : (int)v;
}

static struct launcher find_launcher(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        int size = env_int(launchers[i].size), rank = env_int(launchers[i].rank);
        if (size > 0 && rank >= 0)
            return (struct launcher){launchers[i].size, launchers[i].rank, size, rank};
    }
    return (struct launcher){NULL, NULL, 1, 0};
}

int rank_identity_launched_tasks(void)
{
    return find_launcher().size;
}

int rank_identity_launched_task(void)
{
    struct launcher launcher = find_launcher();
    const char *text = getenv("TF_CONFIG");
    struct spec spec;
    struct err ignored;
    int rank = launcher.rank;

    if (local_ranks_index() >= 0)
        return local_ranks_index();
    if (launcher.size_name || !text || spec_read(text, &spec, &ignored))
        return rank;
    rank = spec.rank;
    spec_destroy(&spec);
    return rank;
}

int rank_identity_local_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID", "LOCAL_RANK"};

    if (local_ranks_index() >= 0)
        return local_ranks_index();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text && *text >= '0' && *text <= '9')
            return (int)(strtol(text, NULL, 10) & 0xffff);
    }
    return 0;
}

static bool same_short(const char *a, const char *b)
{
    size_t n = strcspn(a, ".");

    return n > 0 && n == strcspn(b, ".") && strncasecmp(a, b, n) == 0;
}

static bool is_loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* Returns whether the name or address has an address of this machine, as names on a second network
 * have (juwels07i). */
static bool resolves_here(const char *host)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;

    if (resolve_host(host, NULL, &hints, &list))
        return false;
    bool here = resolve_is_own(list);
    freeaddrinfo(list);
    return here;
}

/* Slurm's name of a node may differ from its host name. */
static bool is_this_host(const char *host)
{
    char name[256] = "";
    const char *node = getenv("SLURMD_NODENAME");

    if (is_address(host))
        return resolves_here(host);
    gethostname(name, sizeof name - 1);
    return same_short(host, name) || (node && same_short(host, node)) || resolves_here(host);
}

static int check_host(const struct spec *spec, const char *own, struct err *e)
{
    const char *host = spec->hosts[spec->rank];

    if (!is_loopback(host))
        return is_this_host(host)
                   ? 0
                   : err_set(e, ERR_PEER, "TF_CONFIG says that worker %d runs on %s, but this host "
                             "is %s; the spec is of another job, or the task runs on the wrong "
                             "node",
                             spec->rank, host, own);
    for (int i = 0; i < spec->nworkers; i++)
        if (!is_loopback(spec->hosts[i]) && !is_this_host(spec->hosts[i]))
            return err_set(e, ERR_PEER, "TF_CONFIG says that worker %d runs on %s and worker %d on "
                           "%s, but localhost is a different machine for each of them; use the "
                           "hosts' names",
                           spec->rank, host, i, spec->hosts[i]);
    return 0;
}

static int check_spec(const struct spec *spec, const struct rank_identity *s,
                      const struct launcher *launcher, struct err *e)
{
    if (spec->nworkers != s->tasks)
        return err_set(e, ERR_PEER, "this run has %d tasks (layout.tasks), but TF_CONFIG lists %d "
                       "workers; make the spec in the same job step: unetctl spec", s->tasks,
                       spec->nworkers);
    if (launcher->size_name && spec->rank != launcher->rank)
        return err_set(e, ERR_PEER, "this task is %d (%s), but TF_CONFIG says worker %d; make the "
                       "spec inside each task: unetctl spec", launcher->rank, launcher->rank_name,
                       spec->rank);
    return check_host(spec, s->host, e);
}

static int read_spec(struct rank_identity *s, const struct launcher *launcher, bool by_hand,
                     struct err *e)
{
    const char *text = getenv("TF_CONFIG");

    if (!text || !*text) {
        if (s->tasks == 1 || by_hand)
            return 0;
        return err_set(e, ERR_PEER,
                       "this run has %d tasks, but TF_CONFIG, which gives each of them its rank, is "
                       "not set; start the run by run_file.sh, or export "
                       "TF_CONFIG=\"$(unetctl spec)\" in each task", s->tasks);
    }
    if (spec_read(text, &s->spec, e) || check_spec(&s->spec, s, launcher, e))
        return -1;
    s->task = s->spec.rank;
    return 0;
}

/* Returns the number of tasks on this task's node by the launcher, or else the most that may be
 * there. */
static int tasks_here(const struct settings *config)
{
    int local = env_int("OMPI_COMM_WORLD_LOCAL_SIZE");

    if (local <= 0)
        local = env_int("MPI_LOCALNRANKS");
    if (local > 0 && local <= config->layout.tasks)
        return local;
    return config->layout.tasks_per_node < config->layout.tasks ? config->layout.tasks_per_node
                                                                : config->layout.tasks;
}

int rank_identity_own_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                       : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Returns the cores of one rank, at least 1: an equal share of the cores of its task, which are
 * Slurm's cores per task, those that it is bound to, or a share of those of its node. */
static int share_of_cores(const struct settings *config)
{
    int per_task = env_int("SLURM_CPUS_PER_TASK"), on_node = env_int("SLURM_CPUS_ON_NODE");
    int cores = rank_identity_own_cores();
    bool bound = cores < (int)sysconf(_SC_NPROCESSORS_ONLN);

    if (per_task > 0 && per_task < cores) {
        cores = per_task;
    } else if (!(bound && config->layout.tasks > 1)) { /* a bound task does not share its cores */
        if (on_node > 0 && on_node < cores)
            cores = on_node;
        cores /= tasks_here(config);
    }
    cores /= config->layout.gpus_per_task;
    return cores > 1 ? cores : 1;
}

static enum rank_identity_comm choose_comm(const struct settings *config)
{
    bool several = config->layout.gpus > 1;
    bool automatic = strcmp(config->train.comm, "auto") == 0;

    if (strcmp(config->train.comm, "nccl") == 0 ||
        (automatic && several && strcmp(config->train.backend, "cuda") == 0))
        return RANK_IDENTITY_NCCL;
    if (strcmp(config->train.comm, "mpi") == 0 || config->layout.tasks > 1)
        return RANK_IDENTITY_MPI;
    return several ? RANK_IDENTITY_NODE : RANK_IDENTITY_SELF;
}

/* Makes forked ranks the ranks of this run, with the name of this host for all of them. */
static int take_local(struct rank_identity *s, struct err *e)
{
    size_t n = (size_t)s->local->size;
    struct spec *spec = &s->spec;

    spec_destroy(spec);
    *spec = (struct spec){.rank = s->local->rank, .hosts = mem_zero(n, sizeof *spec->hosts, e),
                          .ports = mem_zero(n, sizeof *spec->ports, e)};
    if (!spec->hosts || !spec->ports)
        return -1;
    for (; spec->nworkers < s->local->size; spec->nworkers++)
        if (!(spec->hosts[spec->nworkers] = strdup(s->host)))
            return mem_fail(e);
    spec->ports[0] = s->local->port;
    s->tasks = s->local->size;
    s->task = s->local->rank;
    return 0;
}

int rank_identity_decide(const struct settings *config, bool by_hand,
                         const struct local_ranks *local, struct rank_identity *s, struct err *e)
{
    struct launcher launcher = find_launcher();
    const char *node = getenv("SLURMD_NODENAME");

    *s = (struct rank_identity){.comm = choose_comm(config), .tasks = config->layout.tasks,
                           .task = launcher.rank, .local = local};
    if (node && *node)
        snprintf(s->host, sizeof s->host, "%s", node);
    else
        gethostname(s->host, sizeof s->host - 1);
    if (launcher.size_name && launcher.size != s->tasks)
        return err_set(e, ERR_PEER, "this run has %d tasks (layout.tasks), but %d were started "
                       "(%s); start as many as the run has", s->tasks, launcher.size,
                       launcher.size_name);
    if (read_spec(s, &launcher, by_hand, e) || (local && take_local(s, e)))
        return -1;
    if (s->comm == RANK_IDENTITY_NCCL && s->tasks > 1 && s->spec.nworkers == 0)
        return err_set(e, ERR_PEER,
                       "NCCL's ranks connect by the cluster spec, but TF_CONFIG is not set; "
                       "export TF_CONFIG=\"$(unetctl spec)\" in each task");
    s->threads = config->train.threads ? config->train.threads : share_of_cores(config);
    return 0;
}

const char *rank_identity_comm_name(const struct rank_identity *s)
{
    static const char *const names[] = {
        [RANK_IDENTITY_SELF] = "self", [RANK_IDENTITY_NODE] = "node",
        [RANK_IDENTITY_MPI] = "mpi", [RANK_IDENTITY_NCCL] = "nccl"};

    return names[s->comm];
}

void rank_identity_destroy(struct rank_identity *s)
{
    spec_destroy(&s->spec);
}

int rank_identity_check_comm(const struct rank_identity *s, const struct comm *c, struct err *e)
{
    if (s->comm != RANK_IDENTITY_MPI)
        return 0;
    if (c->size != s->tasks)
        return err_set(e, ERR_PEER, "this run has %d tasks (layout.tasks), but MPI has %d ranks; "
                       "the tasks were not started by a launcher that this MPI understands: "
                       "start them by the mpirun of %s, or by srun --mpi=pmix (Open MPI) or "
                       "--mpi=pmi2 (MPICH)", s->tasks, c->size, comm_mpi_version());
    if ((find_launcher().size_name || s->spec.nworkers > 0) && c->rank != s->task)
        return err_set(e, ERR_PEER, "this task is %d (%s), but MPI says rank %d; the launcher "
                       "and the cluster spec number tasks differently", s->task,
                       s->spec.nworkers > 0 ? "TF_CONFIG" : find_launcher().rank_name, c->rank);
    return 0;
}
