/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/spec/spec_source.h"

#include "launcher/host/child.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static int missing(const char *name, struct err *e)
{
    return err_set(e, ERR_PEER, "%s is not set, so this is not a Slurm job or step; run it in one "
                   "(srun), or give --nodelist, --tasks-per-node and --rank", name);
}

int spec_source_number(const char *name, size_t *dst, struct err *e)
{
    const char *text = variable(name);
    char *end;

    if (!text)
        return missing(name, e);
    errno = 0;
    unsigned long v = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno)
        return err_set(e, ERR_PEER, "%s=%.40s: not a number", name, text);
    *dst = v;
    return 0;
}

/* Reports a missing value: as a usage error if other options are given, otherwise as a missing
 * variable. */
static int require_value(const struct spec_options *o, const char *option, const char *name,
                         struct err *e)
{
    if (!o->nodelist && !o->tasks && o->rank < 0)
        return missing(name, e);
    return err_set(e, ERR_USAGE, "%s is missing, and %s is not set ('unetctl spec --help' explains "
                   "both)", option, name);
}

/* Finds the texts of nodes and tasks, and reads the rank. A step has variables for its own nodes; a
 * batch script outside of steps has only those of the job. */
static int read_texts(const struct spec_options *o, bool in_step, struct spec_source *s,
                      struct err *e)
{
    const char *nodes = in_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
    const char *tasks = in_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
    bool by_node = o->tasks && strchr(o->tasks, ':');

    s->nodes_name = o->nodelist || by_node ? "--nodelist" : nodes;
    s->tasks_name = o->tasks ? "--tasks-per-node" : tasks;
    s->nodes_text = o->nodelist ? o->nodelist : by_node ? o->tasks : variable(nodes);
    s->tasks_text = o->tasks ? o->tasks : variable(tasks);
    if (by_node && o->nodelist)
        return err_set(e, ERR_USAGE, "--tasks-per-node %.80s names the nodes; leave --nodelist out",
                       o->tasks);
    if (!s->nodes_text)
        return require_value(o, "--nodelist", nodes, e);
    if (!s->tasks_text)
        return require_value(o, "--tasks-per-node", tasks, e);
    if (o->rank < 0 && !variable("SLURM_PROCID"))
        return require_value(o, "--rank", "SLURM_PROCID", e);
    s->rank = (size_t)o->rank;
    return o->rank < 0 ? spec_source_number("SLURM_PROCID", &s->rank, e) : 0;
}

/* Adds the origin to an error. An error in a variable of Slurm is not a usage error. */
static int prefix_origin(const char *name, struct err *e)
{
    if (name[0] != '-' && e->code == ERR_USAGE)
        e->code = ERR_PEER;
    return err_prefix(e, "%s", name);
}

/* Repeats a single number for each node: --tasks-per-node 2 means 2 on each. Slurm itself always
 * writes 2(xNODES). */
static int repeat_tasks(struct spec_source *s, struct err *e)
{
    size_t n = nodelist_count(s->nodes);
    int *tasks = realloc(s->tasks.tasks, n * sizeof *tasks);

    if (!tasks)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (size_t i = 1; i < n; i++)
        tasks[i] = tasks[0];
    s->tasks = (struct tasklist){tasks, n};
    return 0;
}

/* Reads NODES:N at text, up to a comma outside of brackets. Adds the nodes to names and
 * N(xNODES) to tasks. *limit is how many more nodes there may be. Returns the text after it, or
 * NULL. */
static const char *read_node_tasks(const char *text, size_t *limit, struct buf *names,
                                   struct buf *tasks, struct err *e)
{
    size_t length = strcspn(text, ":"), rest = strcspn(text + length, ",");

    buf_addf(names, "%s%.*s", names->length ? "," : "", (int)length, text);
    char *list = strndup(text, length);
    struct nodelist *l = list ? nodelist_decode(list, *limit, e) : NULL;
    *limit -= l ? nodelist_count(l) : 0;
    if (l && rest > 0)
        buf_addf(tasks, "%s%.*s(x%zu)", tasks->length ? "," : "", (int)rest - 1, text + length + 1,
                 nodelist_count(l));
    else if (l)
        err_set(e, ERR_USAGE, "'%.80s': the number of tasks is missing; write NODES:N, as in "
                "node[1-3]:2,node4:1", text);
    nodelist_destroy(l);
    free(list);
    return l && rest > 0 ? text + length + rest : NULL;
}

/* Decodes tasks by node, "node[1-3]:2,node4:1". */
static int decode_by_node(struct spec_source *s, struct err *e)
{
    struct buf names = {0}, tasks = {0};
    const char *at = s->tasks_text;
    size_t limit = NODELIST_LIMIT;
    int rc = -1;

    do {
        at = read_node_tasks(at + (*at == ','), &limit, &names, &tasks, e);
    } while (at && *at == ',');
    if (at && (names.failed || tasks.failed))
        err_set(e, ERR_INTERNAL, "out of memory");
    else if (at && (s->nodes = nodelist_decode(names.data, NODELIST_LIMIT, e)) != NULL)
        rc = tasklist_decode(tasks.data, NODELIST_LIMIT, &s->tasks, e);
    buf_destroy(&names);
    buf_destroy(&tasks);
    return rc ? prefix_origin(s->tasks_name, e) : 0;
}

static int decode_source(struct spec_source *s, struct err *e)
{
    if (s->nodes_text == s->tasks_text)
        return decode_by_node(s, e);
    s->nodes = nodelist_decode(s->nodes_text, NODELIST_LIMIT, e);
    if (!s->nodes)
        return prefix_origin(s->nodes_name, e);
    if (tasklist_decode(s->tasks_text, NODELIST_LIMIT, &s->tasks, e))
        return prefix_origin(s->tasks_name, e);
    if (s->tasks_name[0] == '-' && s->tasks.count == 1 && repeat_tasks(s, e))
        return -1;
    if (s->tasks.count != nodelist_count(s->nodes))
        return err_set(e, s->apart ? ERR_USAGE : ERR_PEER,
                       "%s has %zu nodes, but %s=%.80s has %zu", s->nodes_name,
                       nodelist_count(s->nodes), s->tasks_name, s->tasks_text, s->tasks.count);
    return 0;
}

static void count_tasks(struct spec_source *s)
{
    for (size_t i = 0; i < s->tasks.count; i++) {
        s->ntasks += (size_t)s->tasks.tasks[i];
        s->max_tasks = s->tasks.tasks[i] > s->max_tasks ? s->tasks.tasks[i] : s->max_tasks;
    }
}

/* Returns whether this is the distribution `name`. What follows ':' or ',' in text concerns sockets
 * and cores. */
static bool is_distribution(const char *text, const char *name)
{
    return strcspn(text, ":,") == strlen(name) && text_begins(text, name);
}

/* Sets s->plane by how Slurm numbered the tasks: it stays 0 for block or without the variable, and
 * becomes 1 for cyclic, or SLURM_DIST_PLANESIZE for plane. It makes no difference on one node and,
 * except for "arbitrary", with one task on each node. Other distributions are refused, and with
 * o->is_tf all but block. */
static int read_distribution(const struct spec_options *o, struct spec_source *s, struct err *e)
{
    const char *text = variable("SLURM_DISTRIBUTION");
    size_t size = 0;

    if (!text || s->tasks.count == 1 || is_distribution(text, "block"))
        return 0;
    bool is_plane = is_distribution(text, "plane");
    bool is_known = is_plane || is_distribution(text, "cyclic");
    if (is_known && s->max_tasks == 1)
        return 0;
    if (!is_known || o->is_tf)
        return err_set(e, ERR_PEER, "SLURM_DISTRIBUTION=%.40s: %s; start the tasks with srun "
                       "--distribution=block", text,
                       is_known ? "TensorFlow's resolver numbers tasks node by node"
                                : "the order of these tasks is unknown");
    s->plane = 1;
    if (!is_plane)
        return 0;
    if (spec_source_number("SLURM_DIST_PLANESIZE", &size, e))
        return -1;
    if (size == 0)
        return err_set(e, ERR_PEER, "SLURM_DIST_PLANESIZE=0 is not the size of a plane");
    s->plane = size > TASKLIST_TASKS_MAX ? TASKLIST_TASKS_MAX : (int)size;
    return 0;
}

/* Checks that SLURM_STEP_NUM_TASKS agrees with the tasks, and sets s->plane, by which Slurm has
 * numbered them. */
static int read_environment(const struct spec_options *o, bool in_step, struct spec_source *s,
                             struct err *e)
{
    size_t expected = s->ntasks;
    bool is_needed = o->is_tf && !o->has_jobs;

    if (in_step && (is_needed || variable("SLURM_STEP_NUM_TASKS")) &&
        spec_source_number("SLURM_STEP_NUM_TASKS", &expected, e))
        return -1;
    if (expected != s->ntasks)
        return err_set(e, ERR_PEER, "SLURM_STEP_NUM_TASKS=%zu, but %s=%.80s has %zu tasks: the "
                       "environment mixes variables of two steps", expected, s->tasks_name,
                       s->tasks_text, s->ntasks);
    return read_distribution(o, s, e);
}

int spec_source_read(const struct spec_options *o, struct spec_source *dst, struct err *e)
{
    bool in_step = o->is_tf || variable("SLURM_STEP_NODELIST");

    *dst = (struct spec_source){0};
    dst->apart = o->tasks && o->rank >= 0 && (o->nodelist || strchr(o->tasks, ':'));
    if (read_texts(o, in_step, dst, e))
        return -1;
    int rc = decode_source(dst, e);
    if (rc == 0) {
        count_tasks(dst);
        rc = dst->apart ? 0 : read_environment(o, in_step, dst, e);
    }
    if (rc)
        spec_source_destroy(dst);
    return rc;
}

void spec_source_destroy(struct spec_source *s)
{
    if (!s)
        return;
    nodelist_destroy(s->nodes);
    tasklist_destroy(&s->tasks);
    *s = (struct spec_source){0};
}

/* ---- the GPUs of a node ---- */

static int count_listed(void)
{
    static const char *const ask[] = {"nvidia-smi", "--list-gpus", NULL};
    struct child c = {.argv = ask, .out = CHILD_READ, .err = CHILD_NULL};
    struct child_end end;
    struct err ignored;
    int n = child_run(&c, &end, &ignored) == 0 && end.code == 0 ? 0 : -1;

    for (const char *line = n ? NULL : end.out.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        n += strncmp(line, "GPU ", 4) == 0;
    }
    child_destroy(&end);
    return n;
}

/* Returns whether name is a device. CUDA ignores all devices from the first that is invalid: -1, an
 * empty one, or "NoDevFiles", which Slurm may write. */
static bool is_device(const char *name)
{
    return *name && *name != ',' && *name != '-' && strncmp(name, "NoDevFiles", 10) != 0;
}

static int count_devices(const char *list)
{
    int n = 0;

    while (is_device(list)) {
        n++;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return n;
}

int spec_source_count_gpus(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");

    return visible ? count_devices(visible) : count_listed();
}

/* Adds the names of devices first .. first + n of list. */
static void add_names(const char *list, int first, int n, struct buf *dst)
{
    for (int i = 0; i < first + n && is_device(list); i++) {
        size_t length = strcspn(list, ",");
        if (i >= first)
            buf_addf(dst, "%s%.*s", i > first ? "," : "", (int)length, list);
        list += length + (list[length] == ',');
    }
}

void spec_source_add_visible(const struct cluster_spec_task *t, int per_task, bool of_node,
                             struct buf *dst)
{
    static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
    int of_run = t->node_tasks * per_task;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *list = getenv(names[i]);
        int n = list ? count_devices(list) : i == 0 ? count_listed() : 0;
        bool all = of_node || n < of_run; /* fewer: the launcher gave this rank its own */
        if (!list && getenv("SLURM_JOB_ID")) { /* which ones are the run's is unknown */
            if (n > of_run)
                buf_addf(dst, "\nUNETCTL_GPUS_SEEN=%d %d", n, of_run);
            continue;
        }
        if (n <= (all ? of_run : per_task))
            continue;
        buf_addf(dst, "\n%s=", names[i]);
        if (list)
            add_names(list, all ? 0 : t->slot * per_task, all ? of_run : per_task, dst);
        else
            spec_source_add_gpus(all ? 0 : t->slot, all ? of_run : per_task, dst);
    }
}

void spec_source_add_gpus(int slot, int per_task, struct buf *dst)
{
    for (int i = 0; i < per_task; i++)
        buf_addf(dst, "%s%d", i ? "," : "", slot * per_task + i);
}
