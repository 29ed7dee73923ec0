/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/host/jsonio.h"
#include "launcher/spec/spec_source.h"

#define DEFAULT_PORT_BASE 8888 /* the default of TensorFlow's SlurmClusterResolver */
/* In a job: clear of what listens on nodes, such as the exporters of metrics at 9100 and 9400, and
 * below the ports that the kernel hands out. */
#define JOB_PORT_BASE 12000
#define JOB_PORTS 1000
/* the most bytes of "NAME=VALUE" that Linux accepts, with the NUL */
#define VARIABLE_MAX (128 << 10)

static struct {
    const char *resolver, *jobs, *host_suffix, *task;
    const char *rpc_layer, *format;
    struct spec_options opt;
    long port_base, port_count, gpus_per_node, gpus_per_task;
    bool no_auto_set_gpu, gpus_of_node, json;
} given = {.resolver = "slurm", .rpc_layer = "grpc", .format = "json", .opt = {.rank = -1},
           .gpus_per_node = -1, .gpus_per_task = -1};

struct spec_answer {
    struct spec_source source;
    struct cluster_spec spec;
    struct cluster_spec_task self;
    struct buf text;    /* TF_CONFIG, or the variables with --format env */
    int gpus_per_task;  /* -1: unknown */
    struct buf visible; /* CUDA_VISIBLE_DEVICES if gpus_per_task > 0 */
};

/* Chooses the first port: in a job that of a range which the job's number selects, since two jobs
 * may share a node, but not where the resolver is TensorFlow's or, in a job of Slurm, all values
 * come from options. Users of this host have local queues of their own, with the same numbers. */
static int choose_port_base(struct spec_answer *a, struct err *e)
{
    bool in_slurm = !a->source.apart && getenv("SLURM_JOB_ID");
    const char *name = in_slurm ? "SLURM_JOB_ID" : "UNETCTL_JOB_ID";
    bool in_job = !given.opt.is_tf && getenv(name);
    long first = given.port_base ? given.port_base : in_job ? JOB_PORT_BASE : DEFAULT_PORT_BASE;
    long tasks = a->source.max_tasks, bases = in_job && !given.port_base ? JOB_PORTS : 1;
    size_t id = 0;

    if (given.port_count && given.port_count < tasks)
        return err_set(e, ERR_PEER, "%ld tasks on a node need as many ports, but --port-count is "
                       "%ld", tasks, given.port_count);
    if (given.port_count)
        bases = given.port_count - tasks + 1;
    if (in_job && bases > 1 && spec_source_number(name, &id, e))
        return -1;
    if (in_job && !in_slurm)
        id += (size_t)getuid();
    a->spec.port_base = (int)(first + (long)(id % (size_t)bases));
    return 0;
}

/* Sets the GPUs of a node and of a task: what options say, or with --resolver tf, as TensorFlow's
 * does, equal shares of the node's GPUs. Where their number is unknown, tasks get none. */
static int choose_gpus(struct spec_answer *a, struct err *e)
{
    long per_node = given.gpus_per_node, per_task = given.gpus_per_task;

    if (given.opt.is_tf && per_node < 0 && per_task != 0)
        per_node = spec_source_count_gpus();
    if (given.opt.is_tf && per_task < 0 && per_node >= 0) {
        per_task = per_node / a->source.max_tasks;
        if (per_task == 0 && per_node > 0)
            return err_set(e, ERR_PEER, "a node has only %ld GPU%s for %d tasks; give "
                           "--gpus-per-node, or --gpus-per-task 0 for tasks without GPUs", per_node,
                           plural(per_node), a->source.max_tasks);
    }
    a->gpus_per_task = (int)per_task;
    a->spec.gpus_per_node = (int)per_node;
    a->spec.gpus_per_task = per_node >= 0 && per_task > 0 ? (int)per_task : 0;
    return 0;
}

static int read_words(bool has_command, struct err *e)
{
    static const char *const resolvers[] = {"slurm", "tf", NULL};
    static const char *const formats[] = {"json", "env", NULL};

    given.opt.is_tf = strcmp(given.resolver, "tf") == 0;
    given.opt.has_jobs = given.jobs;
    if (cli_choose(given.resolver, resolvers, "--resolver: unknown resolver", e) < 0 ||
        cli_choose(given.format, formats, "--format: unknown format", e) < 0)
        return -1;
    if (strcmp(given.format, "env") == 0 && (has_command || given.json))
        return err_set(e, ERR_USAGE, "--format env excludes a command and --json");
    if (given.host_suffix && given.host_suffix[strspn(given.host_suffix, NODELIST_NAME_CHARS)])
        return err_set(e, ERR_USAGE,
                       "--host-suffix %.40s: a host name has letters, digits, '-', '_' and '.'",
                       given.host_suffix);
    return 0;
}

static int make_answer(struct spec_answer *a, bool has_command, struct err *e)
{
    if (read_words(has_command, e) ||
        (given.jobs && cluster_spec_decode_jobs(given.jobs, &a->spec, e)) ||
        spec_source_read(&given.opt, &a->source, e) || choose_port_base(a, e) || choose_gpus(a, e))
        return -1;
    a->spec.order = given.opt.is_tf ? CLUSTER_SPEC_TF : CLUSTER_SPEC_SLURM;
    a->spec.plane = a->source.plane;
    a->spec.nodes = a->source.nodes;
    a->spec.tasks = a->source.tasks.tasks;
    a->spec.rank = a->source.rank;
    a->spec.host_suffix = given.host_suffix;
    return (strcmp(given.format, "env") == 0 ? cluster_spec_encode_env : cluster_spec_encode)(
        &a->spec, &a->text, e);
}

static int find_self(struct spec_answer *a, struct err *e)
{
    if (cluster_spec_find(&a->spec, a->spec.rank, &a->self, e))
        return -1;
    if (a->gpus_per_task > 0)
        spec_source_add_gpus(a->self.slot, a->gpus_per_task, &a->visible);
    if (a->gpus_per_task > 0 && strcmp(given.format, "env") == 0)
        spec_source_add_visible(&a->self, a->gpus_per_task, given.gpus_of_node, &a->text);
    return 0;
}

static int print_spec(const struct buf *b, struct err *e)
{
    if (b->failed)
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (fwrite(b->data, 1, b->length, stdout) != b->length || fputc('\n', stdout) == EOF ||
        fflush(stdout))
        return err_errno(e, ERR_INTERNAL, errno, "cannot write to standard output");
    return 0;
}

/* Finds the task of --task TYPE:INDEX. */
static int find_task(const struct spec_answer *a, struct cluster_spec_task *t, struct err *e)
{
    const char *colon = strchr(given.task, ':');
    size_t length = colon ? (size_t)(colon - given.task) : 0;
    char type[sizeof t->type] = "", *end = NULL;
    size_t index = colon && colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;

    if (!end || *end || length >= sizeof type)
        return err_set(e, ERR_USAGE, "--task %.40s: must be TYPE:INDEX, such as worker:1",
                       given.task);
    memcpy(type, given.task, length);
    return cluster_spec_find_type(&a->spec, type, index, t, e);
}

static json_t *encode_address(const char *layer, const struct cluster_spec_task *t)
{
    return json_sprintf("%s%s%s%s:%d", layer, *layer ? "://" : "", t->host,
                        given.host_suffix ? given.host_suffix : "", t->port);
}

static int print_spec_json(struct spec_answer *a, struct err *e)
{
    struct cluster_spec_task asked = a->self;

    if (given.task && find_task(a, &asked, e))
        return -1;
    json_t *o = json_pack("{s:i}", "schema", 1), *spec = json_loads(a->text.data, 0, NULL);
    json_object_update(o, spec);
    json_decref(spec);
    json_object_set_new(o, "rank", json_integer((json_int_t)a->spec.rank));
    json_object_set_new(o, "address", encode_address("", &a->self));
    json_object_set_new(o, "master", encode_address(given.rpc_layer, &asked));
    if (a->gpus_per_task >= 0)
        json_object_set_new(o, "num_accelerators", json_pack("{s:i}", "GPU", a->gpus_per_task));
    if (a->gpus_per_task > 0)
        json_object_set_new(o, "cuda_visible_devices", json_string(a->visible.data));
    return jsonio_print_line(o, "spec", e);
}

/* Replaces this process by the command, with the specification in its environment as TF_CONFIG and,
 * with --resolver tf, the task's GPUs as CUDA_VISIBLE_DEVICES. */
static int run_command(struct spec_answer *a, char **command, struct err *e)
{
    if (a->text.length + sizeof "TF_CONFIG=" > VARIABLE_MAX)
        return err_set(e, ERR_PEER, "TF_CONFIG has %zu bytes, but Linux allows %zu in one "
                       "variable; run fewer tasks, or let the program read the output of unetctl "
                       "spec", a->text.length, VARIABLE_MAX - sizeof "TF_CONFIG=");
    bool sets_gpus = given.opt.is_tf && a->gpus_per_task > 0 && !given.no_auto_set_gpu;
    if (setenv("TF_CONFIG", a->text.data, 1) ||
        (sets_gpus && (!a->visible.data || setenv("CUDA_VISIBLE_DEVICES", a->visible.data, 1))))
        return err_set(e, ERR_INTERNAL, "out of memory");
    execvp(command[0], command);
    return err_errno(e, ERR_USAGE, errno, "cannot run %s", command[0]);
}

static int cmd_spec_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct spec_answer a = {0};

    int rc = make_answer(&a, nrest > 0, e);
    if (rc == 0)
        rc = find_self(&a, e);
    if (rc == 0)
        rc = nrest ? run_command(&a, rest, e)
             : given.json ? print_spec_json(&a, e)
                        : print_spec(&a.text, e);
    buf_destroy(&a.text);
    buf_destroy(&a.visible);
    spec_source_destroy(&a.source);
    return rc ? err_prefix(e, "spec") : 0;
}

static const struct cli_option options[] = {
    {"resolver", 0, CLI_STRING, "NAME",
     "order nodes as listed (slurm, the default) or by name (tf)", &given.resolver, 0, 0},
    {"port-base", 0, CLI_INT, "P",
     "first port of the ranks of each node (default: 12000; outside of jobs 8888)", &given.port_base,
     1, 65535},
    {"port-count", 0, CLI_INT, "N",
     "N ports from there, of which the job's number selects those of its ranks", &given.port_count, 1, 65535},
    {"host-suffix", 0, CLI_STRING, "TEXT",
     "append this to node names, such as -ib for names of the fast network", &given.host_suffix, 0,
     0},
    {"format", 0, CLI_STRING, "FORM",
     "print TF_CONFIG (json, the default) or RANK=0, MASTER_ADDR ... (env)", &given.format, 0, 0},
    {"nodelist", 0, CLI_STRING, "L", "use these nodes instead of the environment's", &given.opt.nodelist,
     0, 0},
    {"tasks-per-node", 0, CLI_STRING, "T",
     "run these tasks: 2, 2(x3),1 or node[1-3]:2,node4:1", &given.opt.tasks, 0, 0},
    {"rank", 0, CLI_INT, "R", "be task R, counted from 0 (default: SLURM_PROCID)", &given.opt.rank, 0,
     1e9},
    {"jobs", 0, CLI_STRING, "LIST",
     "give tasks these types, such as chief=1,worker=3 (default: all worker)", &given.jobs, 0, 0},
    {"gpus-per-node", 0, CLI_INT, "G",
     "assume G GPUs on each node (default with tf: from CUDA_VISIBLE_DEVICES)", &given.gpus_per_node,
     0, 1024},
    {"gpus-per-task", 0, CLI_INT, "G",
     "give each task G GPUs, 0 for none (default with tf: an equal share)", &given.gpus_per_task, 0,
     1024},
    {"gpus-of-node", 0, CLI_FLAG, NULL,
     "env: a task sees the GPUs of all tasks of its node, not only its own", &given.gpus_of_node,
     0, 0},
    {"no-auto-set-gpu", 0, CLI_FLAG, NULL, "tf: leave CUDA_VISIBLE_DEVICES of COMMAND unchanged",
     &given.no_auto_set_gpu, 0, 0},
    {"json", 0, CLI_FLAG, NULL,
     "print rank, address, master and GPUs as well", &given.json, 0, 0},
    {"task", 0, CLI_STRING, "TYPE:I",
     "with --json: print the address of this task as master (default: this one)", &given.task, 0, 0},
    {"rpc-layer", 0, CLI_STRING, "NAME",
     "with --json: print master with this protocol (default: grpc)", &given.rpc_layer, 0, 0},
    {0}};

const struct cli_command cmd_spec = {
    .name = "spec",
    .args = "[-- COMMAND...]",
    .summary = "print the cluster specification of this task (TF_CONFIG)",
    .details =
        "Prints one line of JSON: the address of every task, and which one this is. The source is\n"
        "SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE (outside of a step SLURM_JOB_NODELIST\n"
        "and SLURM_TASKS_PER_NODE), SLURM_PROCID and SLURM_DISTRIBUTION (block, cyclic, plane).\n"
        "An option overrides its variable. A missing or contradictory value is an error (exit 5),\n"
        "never a fallback to this host. Task s of a node listens at port P + s. COMMAND is run\n"
        "with TF_CONFIG in its environment. --format env with --gpus-per-task adds a list of GPUs,\n"
        "such as CUDA_VISIBLE_DEVICES, where this task sees others than its own.\n"
        "\n"
        "--resolver tf follows TensorFlow's SlurmClusterResolver: only variables of the step,\n"
        "nodes sorted by name, ports from 8888, tasks assigned to --jobs by name, and a share of\n"
        "the GPUs in CUDA_VISIBLE_DEVICES of COMMAND. Unlike it, a node listed twice and lists of\n"
        "unequal length are refused, and GPUs of unknown number are not assigned.\n"
        "\n"
        "'unetctl doctor --gpus N' compares what the ranks of a job see.\n"
        "\n"
        "  srun unetctl spec -- unet-train train --run run.json --out DIR\n"
        "  unetctl spec --nodelist 'node[1-2]' --tasks-per-node 2,1 --rank 2 --port-base 8888\n",
    .options = options,
    .run = cmd_spec_run,
};
