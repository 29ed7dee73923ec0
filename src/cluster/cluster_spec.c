/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/cluster/cluster_spec.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_MAX 65535
#define PORT_TEXT_SIZE 8 /* ":65535\"," without NUL */
#define JOB_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define BLOCK 16         /* names and ports are copied in blocks of this size, see copy_blocks */

/* A node as the encoder needs it. */
struct spec_place {
    const char *name;
    size_t length;
    int tasks;
};

/* The text that follows the node's name in the address of a task: `SUFFIX:8888",`. It depends
 * only on the task's slot. */
struct port {
    char text[CLUSTER_SPEC_SUFFIX_MAX + 1 + PORT_TEXT_SIZE];
    size_t length;
};

struct encoder {
    const struct cluster_spec *spec;
    struct spec_place *places; /* as in the list, or sorted by name for CLUSTER_SPEC_TF */
    struct port *ports;   /* by slot */
    struct cluster_spec_job jobs[CLUSTER_SPEC_JOBS_MAX]; /* in the order of ranks */
    size_t nnodes, ntasks, njobs, suffix_length;
    int max_tasks;
    struct err *e;
};

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct spec_place *)a)->name, ((const struct spec_place *)b)->name);
}

/* Returns whether a comes before b in an order where shorter names come first. Most lists have this
 * order: node9, node10. */
static bool ascends(const struct spec_place *a, const struct spec_place *b)
{
    return a->length != b->length ? a->length < b->length : strcmp(a->name, b->name) < 0;
}

/* Refuses duplicate nodes, whose tasks would listen at the same address. A list in ascending
 * order, the usual case, is checked without sorting. */
static int check_unique(struct encoder *c)
{
    size_t i = 1;

    while (i < c->nnodes && ascends(&c->places[i - 1], &c->places[i]))
        i++;
    if (i >= c->nnodes)
        return 0;
    struct spec_place *sorted = calloc(c->nnodes, sizeof *sorted);
    if (!sorted)
        return err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory");
    memcpy(sorted, c->places, c->nnodes * sizeof *sorted);
    qsort(sorted, c->nnodes, sizeof *sorted, compare_places);
    int rc = 0;
    for (i = 1; i < c->nnodes && rc == 0; i++)
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
            rc = err_set(c->e, ERR_PEER, "node %s is listed twice", sorted[i].name);
    free(sorted);
    return rc;
}

static int make_places(struct encoder *c)
{
    c->nnodes = nodelist_count(c->spec->nodes);
    c->places = calloc(c->nnodes, sizeof *c->places);
    if (!c->places)
        return err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory");
    for (size_t i = 0; i < c->nnodes; i++) {
        struct spec_place *p = &c->places[i];
        p->name = nodelist_get(c->spec->nodes, i, &p->length);
        p->tasks = c->spec->tasks[i];
        c->ntasks += (size_t)p->tasks;
        if (c->ntasks > CLUSTER_SPEC_TASKS_MAX)
            return err_set(c->e, ERR_PEER, "there are more than %zu tasks", CLUSTER_SPEC_TASKS_MAX);
        c->max_tasks = p->tasks > c->max_tasks ? p->tasks : c->max_tasks;
    }
    if (check_unique(c))
        return -1;
    if (c->spec->order == CLUSTER_SPEC_TF)
        qsort(c->places, c->nnodes, sizeof *c->places, compare_places);
    return 0;
}

static int make_ports(struct encoder *c)
{
    int base = c->spec->port_base;
    const char *suffix = c->spec->host_suffix ? c->spec->host_suffix : "";

    c->suffix_length = strlen(suffix);
    if (c->suffix_length > CLUSTER_SPEC_SUFFIX_MAX)
        return err_set(c->e, ERR_USAGE, "host suffix '%.20s...': longer than %d bytes", suffix,
                       CLUSTER_SPEC_SUFFIX_MAX);
    if (base < 1 || base > PORT_MAX || c->max_tasks - 1 > PORT_MAX - base)
        return err_set(c->e, ERR_PEER,
                       "%d tasks on a node need ports from %d to %ld, but the last port is %d",
                       c->max_tasks, base, (long)base + c->max_tasks - 1, PORT_MAX);
    c->ports = calloc((size_t)c->max_tasks, sizeof *c->ports);
    if (!c->ports)
        return err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory");
    for (int i = 0; i < c->max_tasks; i++) {
        char text[sizeof c->ports->text + BLOCK];
        c->ports[i].length = (size_t)snprintf(text, sizeof text, "%s:%d\",", suffix, base + i);
        memcpy(c->ports[i].text, text, c->ports[i].length);
    }
    return 0;
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

/* Returns an upper bound of the size of all addresses with quotes and commas, plus the excess that
 * copy_blocks may write. */
static size_t addresses_size(const struct encoder *c)
{
    size_t size = BLOCK;

    for (size_t i = 0; i < c->nnodes; i++)
        size += (size_t)c->places[i].tasks *
                (1 + c->places[i].length + c->suffix_length + PORT_TEXT_SIZE);
    return size;
}

/* Walks over the tasks in the order of ranks. In each turn every node that still has tasks gets up
 * to `turn` of them. */
struct cursor {
    size_t *nodes; /* that get tasks in this turn; the first nkept get more in the next */
    size_t nnodes, at, nkept;
    int begin, end; /* the slots filled in this turn */
    int slot;       /* slot of the next task */
    int turn; /* slots per turn: spec->plane, or enough for all tasks of a node */
};

static int begin_walk(const struct encoder *c, struct cursor *w)
{
    *w = (struct cursor){.nnodes = c->nnodes};
    w->turn = c->spec->plane > 0 && c->spec->plane < c->max_tasks ? c->spec->plane : c->max_tasks;
    w->end = w->turn;
    w->nodes = malloc(c->nnodes * sizeof *w->nodes);
    if (!w->nodes)
        return err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory");
    for (size_t i = 0; i < c->nnodes; i++)
        w->nodes[i] = i;
    return 0;
}

/* Returns the node of the next task, and in *end the end of its slots in this turn. */
static const struct spec_place *current_place(const struct encoder *c, const struct cursor *w,
                                              int *end)
{
    const struct spec_place *p = &c->places[w->nodes[w->at]];

    *end = p->tasks < w->end ? p->tasks : w->end;
    return p;
}

static void next_node(const struct encoder *c, struct cursor *w)
{
    if (c->places[w->nodes[w->at]].tasks > w->end)
        w->nodes[w->nkept++] = w->nodes[w->at];
    if (++w->at == w->nnodes) {
        w->nnodes = w->nkept;
        w->at = w->nkept = 0;
        w->begin = w->end;
        w->end += w->turn;
    }
    w->slot = w->begin;
}

/* Copies size bytes, rounded up to whole blocks, which is faster for short texts. The caller
 * overwrites the excess. */
static void copy_blocks(char *dst, const char *src, size_t size)
{
    for (size_t i = 0; i < size; i += BLOCK)
        memcpy(dst + i, src + i, BLOCK);
}

/* Writes the next count addresses, each with quotes and a comma: `"host:port","host:port",`.
 * Returns the end. */
static char *encode_addresses(const struct encoder *c, struct cursor *w, size_t count, char *dst)
{
    char head[1 + NODELIST_NAME_MAX + BLOCK] = "\""; /* the quote and the name */
    int end;

    while (count > 0) {
        const struct spec_place *p = current_place(c, w, &end);
        memcpy(head + 1, p->name, p->length);
        for (; w->slot < end && count > 0; w->slot++, count--) {
            copy_blocks(dst, head, 1 + p->length);
            dst += 1 + p->length;
            copy_blocks(dst, c->ports[w->slot].text, c->ports[w->slot].length);
            dst += c->ports[w->slot].length;
        }
        if (w->slot == end)
            next_node(c, w);
    }
    return dst;
}

static int encode_jobs(const struct encoder *c, struct cursor *w, struct buf *dst)
{
    for (size_t i = 0; i < c->njobs; i++) {
        buf_addf(dst, "%s\"%s\":[", i ? "," : "", c->jobs[i].name);
        char *text = buf_reserve(dst, addresses_size(c));
        if (!text)
            break;
        size_t size = (size_t)(encode_addresses(c, w, c->jobs[i].count, text) - text);
        dst->length += size ? size - 1 : 0; /* without the last comma */
        buf_add(dst, "]");
    }
    return dst->failed ? err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory") : 0;
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
    struct cursor w;
    size_t job, index;

    if (begin_walk(c, &w))
        return -1;
    buf_add(dst, "{\"cluster\":{");
    int rc = encode_jobs(c, &w, dst);
    free(w.nodes);
    if (rc)
        return rc;
    find_job(c, c->spec->rank, &job, &index);
    buf_addf(dst, "},\"task\":{\"type\":\"%s\",\"index\":%zu}}", c->jobs[job].name, index);
    return dst->failed ? err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory") : 0;
}

static int prepare_encoder(struct encoder *c, size_t rank)
{
    if (make_places(c) || check_task(c, rank) || make_ports(c))
        return -1;
    make_jobs(c);
    return 0;
}

static void release_encoder(struct encoder *c)
{
    free(c->ports);
    free(c->places);
}

int cluster_spec_encode(const struct cluster_spec *spec, struct buf *dst, struct err *e)
{
    struct encoder c = {.spec = spec, .e = e};
    int rc = prepare_encoder(&c, spec->rank) ? -1 : encode_spec(&c, dst);

    release_encoder(&c);
    return rc;
}

/* Finds the node and slot of a rank. */
static int walk_to(const struct encoder *c, size_t rank, struct cluster_spec_task *dst)
{
    struct cursor w;
    int end;

    if (begin_walk(c, &w))
        return -1;
    for (size_t left = rank;; next_node(c, &w)) {
        const struct spec_place *p = current_place(c, &w, &end);
        if (left < (size_t)(end - w.slot)) {
            dst->host = p->name;
            dst->node = w.nodes[w.at];
            dst->node_tasks = p->tasks;
            dst->slot = w.slot + (int)left;
            break;
        }
        left -= (size_t)(end - w.slot);
    }
    free(w.nodes);
    return 0;
}

static int find_task(const struct encoder *c, size_t rank, struct cluster_spec_task *dst)
{
    size_t job;

    if (walk_to(c, rank, dst))
        return -1;
    find_job(c, rank, &job, &dst->index);
    dst->port = c->spec->port_base + dst->slot;
    memcpy(dst->type, c->jobs[job].name, sizeof dst->type);
    return 0;
}

int cluster_spec_find(const struct cluster_spec *spec, size_t rank, struct cluster_spec_task *dst,
                      struct err *e)
{
    struct encoder c = {.spec = spec, .e = e};
    int rc = prepare_encoder(&c, rank) ? -1 : find_task(&c, rank, dst);

    release_encoder(&c);
    return rc;
}

int cluster_spec_encode_env(const struct cluster_spec *spec, struct buf *dst, struct err *e)
{
    struct encoder c = {.spec = spec, .e = e};
    struct cluster_spec_task t, first;
    int rc = prepare_encoder(&c, spec->rank) || find_task(&c, spec->rank, &t) ||
        find_task(&c, 0, &first) ? -1 : 0;

    if (rc == 0)
        buf_addf(dst,
                 "RANK=%zu\nWORLD_SIZE=%zu\nLOCAL_RANK=%d\nLOCAL_WORLD_SIZE=%d\nGROUP_RANK=%zu\n"
                 "MASTER_ADDR=%s%s\nMASTER_PORT=%d",
                 spec->rank, c.ntasks, t.slot, t.node_tasks, t.node, first.host,
                 spec->host_suffix ? spec->host_suffix : "", first.port);
    if (rc == 0 && dst->failed)
        rc = err_set(e, ERR_INTERNAL, "cluster specification: out of memory");
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
        rc = find_task(&c, first + index, dst);
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
