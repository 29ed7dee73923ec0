/* SPDX-License-Identifier: BSD-3-Clause */
/* How a process joins the ranks of its run, and how signals end it. */
#include "src/base.h"
#include "trainer/run/session.h"

#include <pthread.h>
#include <signal.h>

#include "src/clock.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"

/* Signal handlers set flags, which the training polls and a thread watches. */

atomic_int shutdown_signal, shutdown_request, shutdown_any;

#define SLEEP_S 0.1
/* Numbers of sleeps: between checks of the folder's owner; from the signal to the marker; from the
 * marker to the end of the process. */
#define SLEEPS_PER_CHECK 10
#define SLEEPS_BEFORE_MARKER 3
#define SLEEPS_BEFORE_EXIT 10

static pthread_t watcher;
static bool watching;
static atomic_bool done;
static _Atomic double asked_at;  /* when a signal first asked to end, or 0 */
static atomic_bool ends_at_once; /* after a second SIGTERM */

static void note_signal(int n)
{
    shutdown_signal = shutdown_any = n;
}

static void note_request(int n)
{
    shutdown_request = shutdown_any = n;
}

static void note_interrupt(int n)
{
    if (shutdown_any)
        note_signal(n);
    else
        note_request(n);
    asked_at = asked_at > 0 ? asked_at : clock_now();
}

static void note_term(int n)
{
    ends_at_once |= asked_at > 0 && clock_now() >= asked_at + LOCAL_RANKS_TWICE_S;
    asked_at = asked_at > 0 ? asked_at : clock_now();
    note_request(n);
}

void shutdown_catch(bool resumable)
{
    struct sigaction end = {.sa_handler = note_signal}, leave = {.sa_handler = note_request},
                     interrupt = {.sa_handler = note_interrupt}, term = {.sa_handler = note_term};

    shutdown_signal = shutdown_request = shutdown_any = 0;
    sigaction(SIGINT, resumable ? &interrupt : &end, NULL);
    sigaction(SIGTERM, resumable ? &term : &end, NULL);
    if (resumable)
        sigaction(SIGUSR1, &leave, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void sleep_until_done(int sleeps)
{
    for (int i = 0; i < sleeps && !done; i++)
        clock_sleep(SLEEP_S);
}

/* The parent of forked ranks reports how they have ended. */
static void end_process(int code, const char *text)
{
    if (local_ranks_index() < 0)
        log_error("%s", text);
    _exit(code);
}

static void *watch_signals(void *arg)
{
    struct run_log *r = arg;
    struct err e;

    for (int sleeps = 1; !done && !shutdown_signal && !ends_at_once; sleeps++) {
        clock_sleep(SLEEP_S);
        if (r && sleeps % SLEEPS_PER_CHECK == 0 && run_log_check(r, &e)) {
            log_error("%s", e.text);
            note_signal(SIGTERM);
        }
    }
    sleep_until_done(SLEEPS_BEFORE_MARKER);
    if (done)
        return NULL;
    if (shutdown_signal)
        err_signal(&e, shutdown_signal);
    else
        err_set(&e, ERR_RESUMABLE, LOCAL_RANKS_TWICE_TEXT);
    if (r)
        run_log_failed(r, &e);
    sleep_until_done(SLEEPS_BEFORE_EXIT);
    if (!done)
        end_process(e.code, e.text); /* the current step may still take minutes */
    return NULL;
}

void shutdown_watch(struct run_log *r)
{
    done = false;
    watching = pthread_create(&watcher, NULL, watch_signals, r) == 0;
}

void shutdown_unwatch(void)
{
    if (!watching)
        return;
    done = true;
    pthread_join(watcher, NULL);
    watching = false;
}

#define MPI_START_S 60.0

void membership_prepare(struct membership *k, const struct settings *c)
{
    const struct rank_identity *s = &k->identity;
    struct cuda_info info;

    if (s->comm != RANK_IDENTITY_NCCL)
        return;
    cuda_info_read_gpus(&info);
    struct device_comm_config config = {
        .backend = c->train.backend, .index = rank_identity_local_rank(), .driver = info.driver,
        .first = s->task == 0, .deterministic = c->train.deterministic};
    (void)device_comm_open(&k->device, &config, &k->error);
}

/* What rank 0 sends to the others. */
struct root {
    struct nccl_id id;
    int version; /* of its NCCL; 0: unknown */
};

static void take_root(struct membership *k, const struct root *root)
{
    int own = k->device.version;

    k->device.id = root->id;
    if (k->error.code == 0 && root->version && own != root->version)
        err_set(&k->error, ERR_PEER, "rank %d on %s has NCCL %d.%d.%d, rank 0 on %s has %d.%d.%d; "
                "load the same module on all hosts, or set the same LD_LIBRARY_PATH",
                k->identity.task, k->identity.host, own / 10000, own % 10000 / 100, own % 100,
                k->identity.spec.hosts[0], root->version / 10000, root->version % 10000 / 100,
                root->version % 100);
}

int membership_meet(struct membership *k, const struct settings *c, const char *folder,
                    bool *relayed, struct err *e)
{
    const struct rank_identity *s = &k->identity;
    struct root root = {k->device.id, k->device.version};
    size_t nroot = s->comm == RANK_IDENTITY_NCCL ? sizeof root : 0;
    struct rendezvous_config config = {
        .rank = s->task, .size = s->tasks, .hosts = (const char *const *)s->spec.hosts,
        .ports = s->spec.ports, .host = s->host,
        .device = roster_shares_gpus() ? "" : k->device.name,
        .program = "unet-train " PACKAGE_VERSION, .plan = run_config_hash(c), .folder = folder,
        .timeout_s = c->train.timeout_s, .interrupt = &shutdown_any};

    *relayed = false;
    if (s->tasks == 1 || s->spec.nworkers == 0)
        return 0;
    if (s->local) {
        config.address = "127.0.0.1";
        config.listener = s->task == 0 ? s->local->listener : 0;
        memcpy(config.token, s->local->token, sizeof config.token);
    } else if (token_share(folder, config.token, e)) {
        return err_prefix(e, "rank %d of %d on %s", s->task, s->tasks, s->host);
    }
    struct rendezvous *r = rendezvous_open(&config, &root, nroot, relayed, e);
    if (!r)
        return -1;
    if (nroot)
        take_root(k, &root);
    k->lifeline = lifeline_open(r, (const char *const *)s->spec.hosts, k->lost, k->arg, e);
    return k->lifeline ? 0 : -1;
}

/* Returns the timeout of MPI_Init. After a rendezvous all ranks are running, so it ends within
 * seconds or never. A third of train.timeout_s, but at least MPI_START_S, then frees the GPUs of a
 * start that hangs. */
static double mpi_timeout(const struct settings *c, bool have_met)
{
    double all = c->train.timeout_s, some = fmax(all / 3, MPI_START_S);

    return have_met ? fmin(all, some) : all;
}

static struct comm *open_mpi(const struct membership *k, const struct settings *c,
                             struct comm_config config, struct err *e)
{
    config.timeout_s = mpi_timeout(c, k->lifeline != NULL);
    struct comm *comm = comm_mpi_open(&config, k->lost, k->arg, e);

    /* Within a node, sums of buckets are too short for a thread to gain time. */
    if (comm && comm->size > 1 && c->layout.nodes > 1 && comm_mpi_start_thread(comm, e))
        comm->ops->abort(comm, e);
    return comm;
}

struct comm *membership_connect(const struct membership *k, const struct settings *c,
                                struct err *e)
{
    const struct rank_identity *s = &k->identity;
    struct comm_config config = {
        .rank = s->task, .size = s->tasks, .host = s->host, .timeout_s = c->train.timeout_s,
        .interrupt = &shutdown_any, .lifeline = k->lifeline};
    struct comm *comm = NULL;

    if (k->error.code) {
        *e = k->error;
        return NULL;
    }
    switch (s->comm) {
    case RANK_IDENTITY_SELF: comm = comm_self_open(e); break;
    case RANK_IDENTITY_NODE: comm = comm_node_open(&config, &s->local->node, e); break;
    case RANK_IDENTITY_MPI: comm = open_mpi(k, c, config, e); break;
    case RANK_IDENTITY_NCCL: comm = comm_nccl_open(&config, &k->device, e); break;
    }
    if (comm)
        comm->interrupt = &shutdown_signal;
    return comm;
}

void membership_close(struct membership *k)
{
    lifeline_close(k->lifeline);
    device_comm_close(&k->device);
    rank_identity_destroy(&k->identity);
}
