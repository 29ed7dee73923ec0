/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/launcher.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster_spec.h"
#include "src/tasklist.h"

#define DEFAULT_PORT_BASE 8888 /* SlurmClusterResolver's */
#define PORT_OFFSETS 1000      /* so many jobs can share a node without sharing a port */

static const char *opt_format = "json", *opt_host_suffix;
static const char *opt_resolver = "slurm", *opt_nodelist, *opt_tasks, *opt_jobs;
static long opt_port_base, opt_rank = -1, opt_gpus_per_node, opt_gpus_per_task;

static bool from_options(void)
{
    return opt_nodelist || opt_tasks || opt_rank >= 0;
}

/* What the specification is made of, wherever it came from. */
struct input {
    const char *nodes_text, *tasks_text;
    const char *nodes_name, *tasks_name; /* the variable or option, for errors */
    bool in_step;
    struct nodelist *nodes;
    struct tasklist tasks;
    size_t rank;
};

static const char *need_variable(const char *name, struct err *e)
{
    const char *value = getenv(name);

    if (value && *value)
        return value;
    err_set(e, ERR_PEER, "spec: %s is not in the environment, so this is not inside a Slurm job or "
            "step; run it there (srun), or give --nodelist, --tasks-per-node and --rank", name);
    return NULL;
}

static int need_number(const char *name, size_t *dst, struct err *e)
{
    const char *text = need_variable(name, e);
    char *end;

    if (!text)
        return -1;
    errno = 0;
    unsigned long v = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno)
        return err_set(e, ERR_PEER, "spec: %s=%.40s: not a number", name, text);
    *dst = v;
    return 0;
}

/* The step knows which of the job's nodes it runs on; a batch script outside of any step has the
 * job's variables only. */
static int read_environment(struct input *in, struct err *e)
{
    const char *step = getenv("SLURM_STEP_NODELIST");

    in->in_step = step && *step;
    in->nodes_name = in->in_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
    in->tasks_name = in->in_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
    in->nodes_text = need_variable(in->nodes_name, e);
    in->tasks_text = in->nodes_text ? need_variable(in->tasks_name, e) : NULL;
    return in->tasks_text ? need_number("SLURM_PROCID", &in->rank, e) : -1;
}

static int read_options(struct input *in, struct err *e)
{
    const char *missing = !opt_nodelist    ? "--nodelist"
                          : !opt_tasks     ? "--tasks-per-node"
                          : opt_rank < 0   ? "--rank"
                                           : NULL;

    if (missing)
        return err_set(e, ERR_USAGE,
                       "spec: %s is missing; --nodelist, --tasks-per-node and --rank go "
                       "together (unetctl spec --help)",
                       missing);
    *in = (struct input){.nodes_text = opt_nodelist, .tasks_text = opt_tasks,
                         .nodes_name = "--nodelist", .tasks_name = "--tasks-per-node",
                         .rank = (size_t)opt_rank};
    return 0;
}

/* --tasks-per-node 2 is 2 on each node; Slurm always writes 2(xNODES). */
static int repeat_tasks(struct input *in, struct err *e)
{
    size_t n = nodelist_count(in->nodes);
    int *tasks = realloc(in->tasks.tasks, n * sizeof *tasks);

    if (!tasks)
        return err_set(e, ERR_INTERNAL, "spec: out of memory");
    for (size_t i = 1; i < n; i++)
        tasks[i] = tasks[0];
    in->tasks = (struct tasklist){tasks, n};
    return 0;
}

/* The decoders speak of usage, but what Slurm told is no fault of the command line. */
static int blame(const char *name, struct err *e)
{
    if (!from_options() && e->code == ERR_USAGE)
        e->code = ERR_PEER;
    return err_prefix(e, "spec: %s", name);
}

static int decode(struct input *in, struct err *e)
{
    in->nodes = nodelist_decode(in->nodes_text, NODELIST_LIMIT, e);
    if (!in->nodes)
        return blame(in->nodes_name, e);
    if (tasklist_decode(in->tasks_text, NODELIST_LIMIT, &in->tasks, e))
        return blame(in->tasks_name, e);
    if (from_options() && in->tasks.count == 1 && repeat_tasks(in, e))
        return -1;
    if (in->tasks.count != nodelist_count(in->nodes))
        return err_set(e, from_options() ? ERR_USAGE : ERR_PEER,
                       "spec: %s has %zu nodes, but %s=%.80s is for %zu", in->nodes_name,
                       nodelist_count(in->nodes), in->tasks_name, in->tasks_text, in->tasks.count);
    return 0;
}

static size_t count_tasks(const struct tasklist *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->count; i++)
        n += (size_t)t->tasks[i];
    return n;
}

/* Other variables of the step that tell the same, or that the numbering is another. */
static int check_environment(const struct input *in, struct err *e)
{
    const char *distribution = getenv("SLURM_DISTRIBUTION");
    size_t ntasks = count_tasks(&in->tasks), told = ntasks;

    if (in->in_step && getenv("SLURM_STEP_NUM_TASKS") &&
        need_number("SLURM_STEP_NUM_TASKS", &told, e))
        return -1;
    if (told != ntasks)
        return err_set(e, ERR_PEER,
                       "spec: SLURM_STEP_NUM_TASKS=%zu, but %s=%.80s makes %zu tasks; "
                       "variables of two steps are mixed here",
                       told, in->tasks_name, in->tasks_text, ntasks);
    if (distribution && strncmp(distribution, "block", 5) != 0 && in->tasks.count > 1 &&
        ntasks > in->tasks.count)
        return err_set(e, ERR_PEER,
                       "spec: SLURM_DISTRIBUTION=%.40s: Slurm does not number these tasks "
                       "node by node; start them with srun --distribution=block",
                       distribution);
    return 0;
}

/* Two jobs of one user may meet on a node: by default the ports of a job depend on its number. */
static int choose_port_base(enum cluster_spec_order order, struct err *e)
{
    const char *job = getenv("SLURM_JOB_ID");
    size_t id = 0;

    if (opt_port_base)
        return (int)opt_port_base;
    if (order == CLUSTER_SPEC_TF || from_options() || !job)
        return DEFAULT_PORT_BASE;
    if (need_number("SLURM_JOB_ID", &id, e))
        return -1;
    return DEFAULT_PORT_BASE + (int)(id % PORT_OFFSETS);
}

static int read_order(enum cluster_spec_order *order, struct err *e)
{
    if (strcmp(opt_resolver, "slurm") == 0)
        *order = CLUSTER_SPEC_SLURM;
    else if (strcmp(opt_resolver, "tf") == 0)
        *order = CLUSTER_SPEC_TF;
    else
        return err_set(e, ERR_USAGE, "spec: --resolver %s: there are slurm and tf", opt_resolver);
    return 0;
}

static int check_words(struct err *e)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

    if (opt_host_suffix && strspn(opt_host_suffix, letters) != strlen(opt_host_suffix))
        return err_set(e, ERR_USAGE, "spec: --host-suffix %.40s: a name has letters, digits, . and -",
                       opt_host_suffix);
    if (strcmp(opt_format, "json") == 0 || strcmp(opt_format, "env") == 0)
        return 0;
    return err_set(e, ERR_USAGE, "spec: --format %s: there are json and env", opt_format);
}

static int print(const struct cluster_spec *spec, struct err *e)
{
    struct buf b = {0};
    int rc = (strcmp(opt_format, "env") == 0 ? cluster_spec_encode_env : cluster_spec_encode)(spec, &b, e);

    if (rc) {
        err_prefix(e, "spec");
    } else {
        buf_add(&b, "\n");
        if (b.failed || fwrite(b.data, 1, b.length, stdout) != b.length || fflush(stdout))
            rc = err_errno(e, ERR_INTERNAL, errno, "spec: cannot write to standard output");
    }
    buf_destroy(&b);
    return rc;
}

static int make_spec(struct input *in, struct err *e)
{
    struct cluster_spec spec = {.host_suffix = opt_host_suffix,
                                .gpus_per_node = (int)opt_gpus_per_node,
                                .gpus_per_task = (int)opt_gpus_per_task};

    if (check_words(e) || read_order(&spec.order, e) || (opt_jobs && cluster_spec_decode_jobs(opt_jobs, &spec, e)))
        return -1;
    if (from_options() ? read_options(in, e) : read_environment(in, e))
        return -1;
    if (decode(in, e) || (!from_options() && check_environment(in, e)))
        return -1;
    spec.nodes = in->nodes;
    spec.tasks = in->tasks.tasks;
    spec.rank = in->rank;
    spec.port_base = choose_port_base(spec.order, e);
    return spec.port_base < 0 ? -1 : print(&spec, e);
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct input in = {0};

    (void)noperands, (void)operands, (void)nrest, (void)rest;
    int rc = make_spec(&in, e);
    nodelist_destroy(in.nodes);
    tasklist_destroy(&in.tasks);
    return rc;
}

static const struct cli_option options[] = {
    {"resolver", 0, CLI_STRING, "NAME",
     "order of the nodes: slurm (as listed) or tf (by name); slurm", &opt_resolver, 0, 0},
    {"port-base", 0, CLI_INT, "P", "port of the first task of a node; 8888 + job number mod 1000",
     &opt_port_base, 1, 65535},
    {"host-suffix", 0, CLI_STRING, "TEXT",
     "goes behind each node's name, where the fast network has names of its own", &opt_host_suffix, 0, 0},
    {"format", 0, CLI_STRING, "FORM",
     "json (TF_CONFIG), or env: RANK=0, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR ...; json", &opt_format, 0, 0},
    {"nodelist", 0, CLI_STRING, "L", "nodes, instead of the environment", &opt_nodelist, 0, 0},
    {"tasks-per-node", 0, CLI_STRING, "T", "with --nodelist: tasks, one number or as in 2(x3),1",
     &opt_tasks, 0, 0},
    {"rank", 0, CLI_INT, "R", "with --nodelist: the task this is, from 0", &opt_rank, 0, 1e9},
    {"jobs", 0, CLI_STRING, "LIST",
     "types of tasks and their counts, as in ps:1,worker:2; all worker", &opt_jobs, 0, 0},
    {"gpus-per-node", 0, CLI_INT, "G", "GPUs a node has, to check --gpus-per-task",
     &opt_gpus_per_node, 0, 1024},
    {"gpus-per-task", 0, CLI_INT, "G", "GPUs of a task; 0: not checked", &opt_gpus_per_task, 0,
     1024},
    {0}};

const struct cli_command cmd_spec = {
    .name = "spec",
    .args = "",
    .summary = "print the cluster specification of this task (TF_CONFIG)",
    .details =
        "One line of JSON: the address of every task, and which one this is. Made from what Slurm\n"
        "tells each task: SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE (outside of a step\n"
        "SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE) and SLURM_PROCID. Nothing is guessed: a\n"
        "missing or contradicting variable is an error (exit 5), never a fallback to this host.\n"
        "Task s of a node listens at port P + s. --resolver tf does as TensorFlow's resolver for\n"
        "Slurm: nodes sorted by name, ports from 8888, tasks dealt to the --jobs by name.\n"
        "\n"
        "  srun sh -c 'TF_CONFIG=$(unetctl spec) exec unet-train train --run run.json --out DIR'\n"
        "  unetctl spec --nodelist 'node[1-2]' --tasks-per-node 2,1 --rank 2 --port-base 8888\n",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
