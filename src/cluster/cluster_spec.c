/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cluster/cluster_spec.h"

static const char *const strategy_names[] = {
    [LAYOUT_AUTO] = "auto",
    [LAYOUT_MIRRORED] = "mirrored",
    [LAYOUT_MULTI_WORKER] = "multi-worker",
};

int layout_compute(int gpus, int gpus_per_node, enum layout_strategy strategy, struct layout *dst,
                   struct err *e)
{
    if (gpus < 1)
        return err_set(e, ERR_CONFIG, "%d GPUs: at least 1 is needed", gpus);
    if (gpus_per_node < 1)
        return err_set(e, ERR_CONFIG, "%d GPUs per node: at least 1 is needed", gpus_per_node);
    if (strategy == LAYOUT_MIRRORED && gpus > gpus_per_node)
        return err_set(e, ERR_CONFIG, "strategy mirrored: one task cannot have %d GPUs on nodes "
                       "that have %d; use multi-worker or auto", gpus, gpus_per_node);
    if (strategy == LAYOUT_AUTO)
        strategy = gpus <= gpus_per_node ? LAYOUT_MIRRORED : LAYOUT_MULTI_WORKER;
    if (strategy == LAYOUT_MIRRORED)
        *dst = (struct layout){.nodes = 1, .tasks = 1, .tasks_per_node = 1, .gpus_per_task = gpus};
    else
        *dst = (struct layout){.nodes = (gpus - 1) / gpus_per_node + 1,
                               .tasks = gpus,
                               .tasks_per_node = gpus < gpus_per_node ? gpus : gpus_per_node,
                               .gpus_per_task = 1};
    dst->gpus = gpus;
    dst->strategy = strategy;
    return 0;
}

const char *layout_strategy_encode(enum layout_strategy strategy)
{
    return strategy_names[strategy];
}

int layout_strategy_decode(const char *name, enum layout_strategy *dst, struct err *e)
{
    for (int i = 0; i < (int)(sizeof strategy_names / sizeof *strategy_names); i++)
        if (strcmp(name, strategy_names[i]) == 0) {
            *dst = (enum layout_strategy)i;
            return 0;
        }
    return err_set(e, ERR_CONFIG, "unknown strategy '%s'; there are auto, mirrored, multi-worker",
                   name);
}

/* ---- the specification ---- */

#define PORT_MAX 65535
#define JOB_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

struct spec_node {
    const char *name;
    int tasks;
};

struct spec_place {
    size_t node;
    int slot;
};

struct encoder {
    const struct cluster_spec *spec;
    struct spec_node *nodes;   /* as in the list, or sorted by name for CLUSTER_SPEC_TF */
    struct spec_place *places; /* by rank */
    /* `SUFFIX:8888"`, which follows the node's name in an address, by slot */
    char (*ports)[CLUSTER_SPEC_SUFFIX_MAX + sizeof ":65535\""];
    struct cluster_spec_job jobs[CLUSTER_SPEC_JOBS_MAX]; /* in the order of ranks */
    size_t nnodes, ntasks, njobs;
    int max_tasks;
    struct err *e;
};

static int compare_nodes(const void *a, const void *b)
{
    return strcmp(((const struct spec_node *)a)->name, ((const struct spec_node *)b)->name);
}

/* Refuses duplicate nodes, whose tasks would listen at the same address. Sorts the nodes for
 * CLUSTER_SPEC_TF. */
static int sort_nodes(struct encoder *c)
{
    struct spec_node *sorted = mem_alloc(c->nnodes, sizeof *sorted, c->e);
    int rc = sorted ? 0 : -1;

    if (rc)
        return rc;
    memcpy(sorted, c->nodes, c->nnodes * sizeof *sorted);
    qsort(sorted, c->nnodes, sizeof *sorted, compare_nodes);
    for (size_t i = 1; i < c->nnodes && rc == 0; i++)
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
            rc = err_set(c->e, ERR_PEER, "node %s is listed twice", sorted[i].name);
    if (c->spec->order == CLUSTER_SPEC_TF)
        memcpy(c->nodes, sorted, c->nnodes * sizeof *sorted);
    free(sorted);
    return rc;
}

static int make_nodes(struct encoder *c)
{
    c->nnodes = nodelist_count(c->spec->nodes);
    c->nodes = mem_alloc(c->nnodes, sizeof *c->nodes, c->e);
    if (!c->nodes)
        return -1;
    for (size_t i = 0; i < c->nnodes; i++) {
        int tasks = c->spec->tasks[i];
        c->nodes[i] = (struct spec_node){nodelist_get(c->spec->nodes, i, NULL), tasks};
        c->ntasks += (size_t)tasks;
        if (c->ntasks > CLUSTER_SPEC_TASKS_MAX)
            return err_set(c->e, ERR_PEER, "there are more than %zu tasks", CLUSTER_SPEC_TASKS_MAX);
        c->max_tasks = tasks > c->max_tasks ? tasks : c->max_tasks;
    }
    return sort_nodes(c);
}

/* Gives each rank its node and slot. In each turn every node that still has tasks gets up to
 * spec->plane of them, or all. */
static int make_places(struct encoder *c)
{
    int plane = c->spec->plane;
    int turn = plane > 0 && plane < c->max_tasks ? plane : c->max_tasks;
    size_t *left = mem_alloc(c->nnodes, sizeof *left, c->e); /* the nodes that still have tasks */
    size_t nleft = c->nnodes, n = 0;

    c->places = left ? mem_alloc(c->ntasks, sizeof *c->places, c->e) : NULL;
    for (size_t i = 0; c->places && i < c->nnodes; i++)
        left[i] = i;
    for (int begin = 0; c->places && nleft; begin += turn) {
        size_t kept = 0;
        for (size_t i = 0; i < nleft; i++) {
            size_t node = left[i];
            int tasks = c->nodes[node].tasks;
            for (int slot = begin; slot < tasks && slot < begin + turn; slot++)
                c->places[n++] = (struct spec_place){node, slot};
            if (tasks > begin + turn)
                left[kept++] = node;
        }
        nleft = kept;
    }
    free(left);
    return c->places ? 0 : -1;
}

static int make_ports(struct encoder *c)
{
    int base = c->spec->port_base;
    const char *suffix = c->spec->host_suffix ? c->spec->host_suffix : "";

    if (strlen(suffix) > CLUSTER_SPEC_SUFFIX_MAX)
        return err_set(c->e, ERR_USAGE, "host suffix '%.20s...': longer than %d bytes", suffix,
                       CLUSTER_SPEC_SUFFIX_MAX);
    if (base < 1 || base > PORT_MAX || c->max_tasks - 1 > PORT_MAX - base)
        return err_set(c->e, ERR_PEER,
                       "%d tasks on a node need ports from %d to %ld, but the last port is %d",
                       c->max_tasks, base, (long)base + c->max_tasks - 1, PORT_MAX);
    c->ports = mem_alloc((size_t)c->max_tasks, sizeof *c->ports, c->e);
    for (int i = 0; c->ports && i < c->max_tasks; i++)
        snprintf(c->ports[i], sizeof *c->ports, "%s:%d\"", suffix, base + i);
    return c->ports ? 0 : -1;
}

static int compare_jobs(const void *a, const void *b)
{
    return strcmp(((const struct cluster_spec_job *)a)->name,
                  ((const struct cluster_spec_job *)b)->name);
}

static void make_jobs(struct encoder *c)
{
    const struct cluster_spec *s = c->spec;

    c->njobs = s->njobs ? s->njobs : 1;
    c->jobs[0] = (struct cluster_spec_job){"worker", c->ntasks};
    if (s->njobs)
        memcpy(c->jobs, s->jobs, s->njobs * sizeof *c->jobs);
    if (s->order == CLUSTER_SPEC_TF)
        qsort(c->jobs, c->njobs, sizeof *c->jobs, compare_jobs);
}

static int check_task(const struct encoder *c, size_t rank)
{
    const struct cluster_spec *s = c->spec;
    size_t asked = 0;

    if (rank >= c->ntasks)
        return err_set(c->e, ERR_PEER, "rank %zu: there are %zu tasks, with ranks 0 to %zu", rank,
                       c->ntasks, c->ntasks - 1);
    if (s->gpus_per_task > 0 && (long)c->max_tasks * s->gpus_per_task > s->gpus_per_node)
        return err_set(c->e, ERR_PEER, "requested more GPUs per node than available: %d tasks x %d "
                       "GPUs, and a node has %d", c->max_tasks, s->gpus_per_task, s->gpus_per_node);
    for (size_t i = 0; i < s->njobs; i++) {
        const struct cluster_spec_job *job = &s->jobs[i];
        bool is_one = strcmp(job->name, "chief") == 0 || strcmp(job->name, "evaluator") == 0;
        if (is_one && job->count > 1 && s->order == CLUSTER_SPEC_SLURM)
            return err_set(c->e, ERR_PEER, "requested %zu tasks of type %s; TensorFlow takes one",
                           job->count, job->name);
        asked += job->count;
    }
    if (s->njobs && asked != c->ntasks)
        return err_set(c->e, ERR_PEER, "requested %zu tasks but %zu were assigned", asked,
                       c->ntasks);
    return 0;
}

/* Finds the type of a rank, and the index of the rank within that type. */
static void find_job(const struct encoder *c, size_t rank, size_t *job, size_t *index)
{
    *index = rank;
    for (*job = 0; *index >= c->jobs[*job].count; ++*job)
        *index -= c->jobs[*job].count;
}

static int encode_spec(const struct encoder *c, struct buf *dst)
{
    const struct spec_place *place = c->places;
    size_t job, index;

    buf_add(dst, "{\"cluster\":{");
    for (size_t i = 0; i < c->njobs; i++) {
        buf_addf(dst, "%s\"%s\":[", i ? "," : "", c->jobs[i].name);
        for (size_t j = 0; j < c->jobs[i].count; j++, place++) {
            buf_add(dst, j ? ",\"" : "\"");
            buf_add(dst, c->nodes[place->node].name);
            buf_add(dst, c->ports[place->slot]);
        }
        buf_add(dst, "]");
    }
    find_job(c, c->spec->rank, &job, &index);
    buf_addf(dst, "},\"task\":{\"type\":\"%s\",\"index\":%zu}}", c->jobs[job].name, index);
    return dst->failed ? mem_fail(c->e) : 0;
}

static int prepare_encoder(struct encoder *c, size_t rank)
{
    if (make_nodes(c) || check_task(c, rank) || make_ports(c) || make_places(c))
        return -1;
    make_jobs(c);
    return 0;
}

static void release_encoder(struct encoder *c)
{
    free(c->ports);
    free(c->places);
    free(c->nodes);
}

int cluster_spec_encode(const struct cluster_spec *spec, struct buf *dst, struct err *e)
{
    struct encoder c = {.spec = spec, .e = e};
    int rc = prepare_encoder(&c, spec->rank) ? -1 : encode_spec(&c, dst);

    release_encoder(&c);
    return rc;
}

static void find_task(const struct encoder *c, size_t rank, struct cluster_spec_task *dst)
{
    const struct spec_place *place = &c->places[rank];
    const struct spec_node *node = &c->nodes[place->node];
    size_t job, index;

    find_job(c, rank, &job, &index);
    *dst = (struct cluster_spec_task){.host = node->name, .node = place->node, .slot = place->slot,
                                      .port = c->spec->port_base + place->slot,
                                      .node_tasks = node->tasks, .index = index};
    memcpy(dst->type, c->jobs[job].name, sizeof dst->type);
}

int cluster_spec_find(const struct cluster_spec *spec, size_t rank, struct cluster_spec_task *dst,
                      struct err *e)
{
    struct encoder c = {.spec = spec, .e = e};
    int rc = prepare_encoder(&c, rank);

    if (rc == 0)
        find_task(&c, rank, dst);
    release_encoder(&c);
    return rc;
}

int cluster_spec_encode_env(const struct cluster_spec *spec, struct buf *dst, struct err *e)
{
    struct encoder c = {.spec = spec, .e = e};
    struct cluster_spec_task t, first;
    int rc = prepare_encoder(&c, spec->rank);

    if (rc == 0) {
        find_task(&c, spec->rank, &t);
        find_task(&c, 0, &first);
        buf_addf(dst,
                 "RANK=%zu\nWORLD_SIZE=%zu\nLOCAL_RANK=%d\nLOCAL_WORLD_SIZE=%d\nGROUP_RANK=%zu\n"
                 "MASTER_ADDR=%s%s\nMASTER_PORT=%d",
                 spec->rank, c.ntasks, t.slot, t.node_tasks, t.node, first.host,
                 spec->host_suffix ? spec->host_suffix : "", first.port);
        rc = dst->failed ? mem_fail(e) : 0;
    }
    release_encoder(&c);
    return rc;
}

int cluster_spec_find_type(const struct cluster_spec *spec, const char *type, size_t index,
                           struct cluster_spec_task *dst, struct err *e)
{
    struct encoder c = {.spec = spec, .e = e};
    int rc = prepare_encoder(&c, 0);
    size_t first = 0, job = 0;

    for (; rc == 0 && job < c.njobs && strcmp(c.jobs[job].name, type) != 0; job++)
        first += c.jobs[job].count;
    if (rc == 0 && (job == c.njobs || index >= c.jobs[job].count))
        rc = err_set(e, ERR_USAGE, "the task %s:%zu does not exist", type, index);
    else if (rc == 0)
        find_task(&c, first + index, dst);
    release_encoder(&c);
    return rc;
}

/* Reads NAME:COUNT or NAME=COUNT at *text and advances *text past it. */
static int decode_job(const char **text, struct cluster_spec_job *job)
{
    size_t length = strcspn(*text, ":=,");
    const char *digits = *text + length + 1;
    size_t ndigits;

    if (length == 0 || length >= sizeof job->name || strspn(*text, JOB_CHARS) < length ||
        ((*text)[length] != ':' && (*text)[length] != '='))
        return -1;
    ndigits = strspn(digits, "0123456789");
    if (ndigits == 0 || ndigits > 9)
        return -1;
    memcpy(job->name, *text, length);
    job->name[length] = 0;
    job->count = strtoul(digits, NULL, 10);
    *text = digits + ndigits;
    return **text == ',' || **text == 0 ? 0 : -1;
}

int cluster_spec_decode_jobs(const char *text, struct cluster_spec *spec, struct err *e)
{
    const char *at = text;

    for (spec->njobs = 0;; at++) {
        const char *start = at;
        if (spec->njobs == CLUSTER_SPEC_JOBS_MAX)
            return err_set(e, ERR_USAGE, "jobs '%.80s': more than %d types are "
                                         "given", text, CLUSTER_SPEC_JOBS_MAX);
        struct cluster_spec_job *job = &spec->jobs[spec->njobs];
        if (decode_job(&at, job))
            return err_set(e, ERR_USAGE, "jobs '%.80s', position %zu: write NAME:COUNT, joined by "
                           "commas, as in ps:1,worker:2", text, (size_t)(start - text) + 1);
        for (size_t i = 0; i < spec->njobs; i++)
            if (strcmp(spec->jobs[i].name, job->name) == 0)
                return err_set(e, ERR_USAGE, "jobs '%.80s': %s is given twice", text, job->name);
        spec->njobs++;
        if (*at == 0)
            return 0;
    }
}
