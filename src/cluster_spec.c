/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/cluster_spec.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_MAX 65535
#define PORT_TEXT_SIZE 8 /* ":65535\"," without NUL */

/* One node with what the encoder needs of it. */
struct place {
    const char *name;
    size_t length;
    int tasks;
};

/* Where each slot of a node listens, as text: `:8888",`. */
struct port {
    char text[PORT_TEXT_SIZE];
    size_t length;
};

struct encoder {
    const struct cluster_spec *spec;
    struct place *places; /* in the order of ranks */
    struct port *ports;   /* by slot */
    char *names;          /* with the suffix, where there is one */
    size_t nnodes, ntasks;
    int max_tasks;
    struct err *e;
};

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->name, ((const struct place *)b)->name);
}

/* node9 before node10: the order in which lists usually come. */
static bool ascends(const struct place *a, const struct place *b)
{
    return a->length != b->length ? a->length < b->length : strcmp(a->name, b->name) < 0;
}

/* Two tasks would listen at one address. A list in order, the usual case, is seen to be free of
 * duplicates without sorting. */
static int check_unique(struct encoder *c)
{
    size_t i = 1;

    while (i < c->nnodes && ascends(&c->places[i - 1], &c->places[i]))
        i++;
    if (i >= c->nnodes)
        return 0;
    struct place *sorted = calloc(c->nnodes, sizeof *sorted);
    if (!sorted)
        return err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory");
    memcpy(sorted, c->places, c->nnodes * sizeof *sorted);
    qsort(sorted, c->nnodes, sizeof *sorted, compare_places);
    int rc = 0;
    for (i = 1; i < c->nnodes && rc == 0; i++)
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
            rc = err_set(c->e, ERR_PEER, "node %s stands twice in the node list", sorted[i].name);
    free(sorted);
    return rc;
}

/* The names of all nodes with the suffix, in one block. */
static int add_suffix(struct encoder *c)
{
    size_t size = 0, n = c->spec->host_suffix ? strlen(c->spec->host_suffix) : 0;
    char *at;

    if (n == 0)
        return 0;
    for (size_t i = 0; i < c->nnodes; i++)
        size += c->places[i].length + n;
    at = c->names = malloc(size);
    if (!at)
        return err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory");
    for (size_t i = 0; i < c->nnodes; i++) {
        struct place *p = &c->places[i];
        memcpy(at, p->name, p->length);
        memcpy(at + p->length, c->spec->host_suffix, n);
        p->name = at;
        p->length += n;
        at += p->length;
    }
    return 0;
}

static int make_places(struct encoder *c)
{
    c->nnodes = nodelist_count(c->spec->nodes);
    c->places = calloc(c->nnodes, sizeof *c->places);
    if (!c->places)
        return err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory");
    for (size_t i = 0; i < c->nnodes; i++) {
        struct place *p = &c->places[i];
        p->name = nodelist_get(c->spec->nodes, i, &p->length);
        p->tasks = c->spec->tasks[i];
        c->ntasks += (size_t)p->tasks;
        c->max_tasks = p->tasks > c->max_tasks ? p->tasks : c->max_tasks;
    }
    if (check_unique(c))
        return -1;
    if (c->spec->order == CLUSTER_SPEC_TF)
        qsort(c->places, c->nnodes, sizeof *c->places, compare_places);
    return add_suffix(c);
}

static int make_ports(struct encoder *c)
{
    int base = c->spec->port_base;
    char text[PORT_TEXT_SIZE + 4];

    if (base < 1 || base > PORT_MAX || c->max_tasks - 1 > PORT_MAX - base)
        return err_set(c->e, ERR_PEER,
                       "%d tasks on a node need ports from %d to %ld; ports end at %d",
                       c->max_tasks, base, (long)base + c->max_tasks - 1, PORT_MAX);
    c->ports = calloc((size_t)c->max_tasks, sizeof *c->ports);
    if (!c->ports)
        return err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory");
    for (int i = 0; i < c->max_tasks; i++) {
        c->ports[i].length = (size_t)snprintf(text, sizeof text, ":%d\",", base + i);
        memcpy(c->ports[i].text, text, c->ports[i].length);
    }
    return 0;
}

static int check(const struct encoder *c)
{
    const struct cluster_spec *s = c->spec;
    size_t asked = 0;

    if (s->rank >= c->ntasks)
        return err_set(c->e, ERR_PEER, "rank %zu: there are %zu tasks, ranks 0 to %zu", s->rank,
                       c->ntasks, c->ntasks - 1);
    if (s->gpus_per_task > 0 && (long)c->max_tasks * s->gpus_per_task > s->gpus_per_node)
        return err_set(c->e, ERR_PEER, "requested more GPUs per node than available: %d tasks x %d "
                       "GPUs, and a node has %d", c->max_tasks, s->gpus_per_task, s->gpus_per_node);
    for (size_t i = 0; i < s->njobs; i++)
        asked += s->jobs[i].count;
    if (s->njobs && asked != c->ntasks)
        return err_set(c->e, ERR_PEER, "requested %zu tasks but %zu were assigned", asked,
                       c->ntasks);
    return 0;
}

/* Bytes of all addresses, with quotes and commas. */
static size_t addresses_size(const struct encoder *c)
{
    size_t size = 0;

    for (size_t i = 0; i < c->nnodes; i++)
        size += (size_t)c->places[i].tasks * (1 + c->places[i].length + PORT_TEXT_SIZE);
    return size;
}

/* Walks over the tasks in the order of ranks. */
struct cursor {
    size_t node;
    int slot;
};

/* The next count addresses as `"host:port","host:port"` at dst; returns the end. */
static char *encode_addresses(const struct encoder *c, struct cursor *at, size_t count, char *dst)
{
    while (count > 0) {
        const struct place *p = &c->places[at->node];
        for (; at->slot < p->tasks && count > 0; at->slot++, count--) {
            *dst++ = '"';
            memcpy(dst, p->name, p->length);
            dst += p->length;
            memcpy(dst, c->ports[at->slot].text, PORT_TEXT_SIZE);
            dst += c->ports[at->slot].length;
        }
        if (at->slot == p->tasks) {
            at->node++;
            at->slot = 0;
        }
    }
    return dst - 1; /* without the last comma */
}

static int compare_jobs(const void *a, const void *b)
{
    return strcmp(((const struct cluster_spec_job *)a)->name,
                  ((const struct cluster_spec_job *)b)->name);
}

static int encode(const struct encoder *c, struct buf *dst)
{
    const struct cluster_spec *s = c->spec;
    struct cluster_spec_job jobs[CLUSTER_SPEC_JOBS_MAX] = {{"worker", c->ntasks}};
    size_t njobs = s->njobs ? s->njobs : 1, first = 0, index = 0;
    const char *type = jobs[0].name;
    struct cursor at = {0, 0};

    if (s->njobs)
        memcpy(jobs, s->jobs, s->njobs * sizeof *jobs);
    qsort(jobs, njobs, sizeof *jobs, compare_jobs);
    buf_add(dst, "{\"cluster\":{");
    for (size_t i = 0; i < njobs; i++) {
        buf_addf(dst, "%s\"%s\":[", i ? "," : "", jobs[i].name);
        char *text = buf_reserve(dst, addresses_size(c));
        if (!text)
            break;
        dst->length = (size_t)(encode_addresses(c, &at, jobs[i].count, text) - dst->data);
        buf_add(dst, "]");
        if (s->rank >= first && s->rank - first < jobs[i].count) {
            type = jobs[i].name;
            index = s->rank - first;
        }
        first += jobs[i].count;
    }
    buf_addf(dst, "},\"task\":{\"type\":\"%s\",\"index\":%zu}}", type, index);
    return dst->failed ? err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory") : 0;
}

int cluster_spec_encode(const struct cluster_spec *spec, struct buf *dst, struct err *e)
{
    struct encoder c = {.spec = spec, .e = e};
    int rc = make_places(&c) || check(&c) || make_ports(&c) || encode(&c, dst) ? -1 : 0;

    free(c.ports);
    free(c.names);
    free(c.places);
    return rc;
}

static int encode_env(const struct encoder *c, struct buf *dst)
{
    size_t rank = c->spec->rank, node = 0, slot = rank;
    const struct place *master = &c->places[0];

    for (; slot >= (size_t)c->places[node].tasks; node++)
        slot -= (size_t)c->places[node].tasks;
    buf_addf(dst, "RANK=%zu\nWORLD_SIZE=%zu\nLOCAL_RANK=%zu\nLOCAL_WORLD_SIZE=%d\nGROUP_RANK=%zu\n"
             "MASTER_ADDR=%.*s\nMASTER_PORT=%d", rank, c->ntasks, slot, c->places[node].tasks, node,
             (int)master->length, master->name, c->spec->port_base);
    return dst->failed ? err_set(c->e, ERR_INTERNAL, "cluster specification: out of memory") : 0;
}

int cluster_spec_encode_env(const struct cluster_spec *spec, struct buf *dst, struct err *e)
{
    struct encoder c = {.spec = spec, .e = e};
    int rc = make_places(&c) || check(&c) || make_ports(&c) || encode_env(&c, dst) ? -1 : 0;

    free(c.ports);
    free(c.names);
    free(c.places);
    return rc;
}

/* NAME:COUNT at *text; *text moves behind it. */
static int decode_job(const char **text, struct cluster_spec_job *job)
{
    size_t length = strspn(*text, "abcdefghijklmnopqrstuvwxyz_");
    const char *digits = *text + length + 1;
    size_t ndigits;

    if (length == 0 || length >= sizeof job->name || (*text)[length] != ':')
        return -1;
    ndigits = strspn(digits, "0123456789");
    if (ndigits == 0 || ndigits > 9)
        return -1;
    memcpy(job->name, *text, length);
    job->name[length] = 0;
    job->count = strtoul(digits, NULL, 10);
    *text = digits + ndigits;
    return job->count > 0 && (**text == ',' || **text == 0) ? 0 : -1;
}

int cluster_spec_decode_jobs(const char *text, struct cluster_spec *spec, struct err *e)
{
    const char *at = text;

    for (spec->njobs = 0;; at++) {
        const char *start = at;
        if (spec->njobs == CLUSTER_SPEC_JOBS_MAX)
            return err_set(e, ERR_USAGE, "jobs '%.80s': more than %d", text, CLUSTER_SPEC_JOBS_MAX);
        struct cluster_spec_job *job = &spec->jobs[spec->njobs];
        if (decode_job(&at, job))
            return err_set(e, ERR_USAGE, "jobs '%.80s', position %zu: write NAME:COUNT, joined by "
                           "commas, as in ps:1,worker:2", text, (size_t)(start - text) + 1);
        for (size_t i = 0; i < spec->njobs; i++)
            if (strcmp(spec->jobs[i].name, job->name) == 0)
                return err_set(e, ERR_USAGE, "jobs '%.80s': %s stands twice", text, job->name);
        spec->njobs++;
        if (*at == 0)
            return 0;
    }
}
