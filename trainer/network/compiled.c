/* SPDX-License-Identifier: BSD-3-Clause */
/* The graphs of a network: their first weights, their compilation, and what their runs cost. */
#include "src/base.h"
#include "trainer/network/network_internal.h"

#include <math.h>
#include <sys/param.h>

#include "src/rng.h"
#include "trainer/core/host.h"
#include "trainer/passes/passes.h"

/* Values are drawn by a counter-based generator (rng.h), in any order and by any thread. */

#define PARALLEL_COUNT 4096 /* fewer values are set by one thread */

static void set_values(struct weights *w, const struct graph_param *p, uint64_t seed)
{
    const struct weights_entry *entry = weights_find(w, p->tensor->name);
    float *dst = (p->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
    uint64_t stream = hash_bytes(HASH_BEGIN, entry->name, strlen(entry->name));

#pragma omp parallel for if (entry->count >= PARALLEL_COUNT)
    for (size_t i = 0; i < entry->count; i++)
        dst[i] = (float)(p->low == p->high
                             ? p->low
                             : p->low + (p->high - p->low) * rng_uniform(seed, stream, i));
}

static int add_entries(struct weights *w, const struct graph *g, struct err *e)
{
    for (size_t i = g->nparams; i-- > 0;) {
        const struct tensor *t = g->params[i].tensor;

        if (weights_add(w, t->name, g->params[i].role, t->shape.ndim, t->shape.dim, e) < 0)
            return -1;
        struct weights_entry *entry = &w->entries[w->nentries - 1];

        entry->frozen = g->params[i].frozen;
        entry->l2 = entry->frozen ? 0 : g->params[i].l2;
        snprintf(entry->torch, sizeof entry->torch, "%s", g->params[i].torch);
    }
    return weights_alloc(w, e);
}

struct weights *first_weights_create(const struct graph *g, uint64_t seed,
                                     const struct device_ops *ops, struct device *device,
                                     struct err *e)
{
    struct weights *w = weights_create(e);

    if (!w)
        return NULL;
    w->ops = ops;
    w->device = device;
    if (add_entries(w, g, e) < 0) {
        weights_destroy(w);
        return NULL;
    }
    for (size_t i = 0; i < g->nparams; i++)
        set_values(w, &g->params[i], seed);
    return w;
}

/* From a model to a graph that can run: gradients, dtype, fusion, casts, kernels, memory. */

#define HOST_RESERVE ((size_t)32 << 20) /* bytes for stacks of threads and images being decoded */

struct graph *compiled_build(const struct network *n, enum compiled_mode mode, int batch,
                             struct err *e)
{
    struct graph *g = graph_create(mode == COMPILED_TRAIN, e);

    if (!g)
        return NULL;
    g->measures = mode == COMPILED_MEASURE;
    g->frozen = n->config.freeze;
    if (model_build(n->model, g, &n->config, batch, e) < 0 ||
        (g->training && graph_backward(g, e) < 0)) {
        graph_destroy(g);
        return NULL;
    }
    return g;
}

/* Returns the graph as it will run. With kernels it can be bound to memory; without, its memory is
 * planned except for the kernels' workspaces. */
static struct graph *plan_graph(const struct network *n, enum compiled_mode mode, int batch,
                                bool kernels, struct err *e)
{
    struct graph *g = compiled_build(n, mode, batch, e);

    if (!g)
        return NULL;
    if (n->runner.device)
        n->runner.ops->use(n->runner.device);
    fuse_drop_bias_grads(g);
    precision_mark(g, n->config.dtype);
    if (precision_narrow(g, n->backend, e) < 0 ||
        (n->backend->fuses && fuse_graph(g, n->backend, e) < 0) ||
        precision_lower(g, n->backend, e) < 0 ||
        (kernels ? graph_compile(g, n->backend, n->weights, e) : plan_arena(g, e)) < 0) {
        graph_destroy(g);
        return NULL;
    }
    return g;
}

void compiled_release(struct network *n)
{
    while (n->compiled) {
        struct compiled *c = n->compiled;

        n->compiled = c->next;
        graph_destroy(c->graph);
        free(c);
    }
    arena_release(&n->arena);
}

static void bind_graph(const struct network *n, struct graph *g)
{
    graph_bind(g, n->weights, n->runner.device ? n->runner.arena : n->arena.base);
}

static size_t needs(const struct network *n, const struct graph *g)
{
    return g->arena_size + (n->runner.device ? runner_slots_size(g) : 0);
}

/* Returns the largest batch below `batch`, which does not fit, that needs at most room bytes, or 0.
 * beside: as in network_check_room. */
static int largest_batch(const struct network *n, enum compiled_mode mode, int batch,
                         bool kernels, size_t beside, size_t room)
{
    int fits = 0;

    while (batch - fits > 1) {
        struct err e;
        int middle = fits + (batch - fits) / 2;
        struct graph *g = plan_graph(n, mode, middle, kernels, &e);
        bool fit = g && needs(n, g) + beside * (size_t)middle <= room;

        graph_destroy(g);
        if (fit)
            fits = middle;
        else
            batch = middle;
    }
    return fits;
}

static int find_room(const struct network *n, int sharers, struct host_memory *room,
                     struct err *e)
{
    if (!n->runner.device) {
        *room = host_memory_limit("", sharers);
        room->nbytes -= MIN(room->nbytes, HOST_RESERVE);
        return 0;
    }
    if (runner_room(&n->runner, &room->nbytes, e) < 0)
        return -1;
    room->nbytes -= room->nbytes / 32; /* for code and workspaces of libraries */
    room->reason = "what the GPU has left";
    return 0;
}

/* nbytes: the arena's size; beside: further bytes per image in the host's memory. */
static int check_room(const struct network *n, enum compiled_mode mode, int batch,
                      bool kernels, size_t nbytes, size_t beside, int sharers, struct err *e)
{
    struct host_memory room;

    if (find_room(n, sharers, &room, e))
        return -1;
    if (n->runner.device)
        beside = 0;
    nbytes += beside * (size_t)batch;
    if (nbytes <= room.nbytes)
        return 0;
    int fits = largest_batch(n, mode, batch, kernels, beside, room.nbytes);
    char advice[96] = "not even one image fits";
    if (fits > 0)
        snprintf(advice, sizeof advice, "a batch of %d fits (--batch-size, train.accumulate)",
                 fits);
    return err_set(e, ERR_CONFIG, "a batch of %d needs %.2f GiB for activations%s, and there are "
                   "%.2f GiB (%s): %s", batch, (double)nbytes / (1 << 30),
                   beside ? " and images" : "",
                   (double)room.nbytes / (1 << 30), room.reason, advice);
}

int network_check_room(const struct network *n, int batch, size_t beside, int sharers,
                        struct err *e)
{
    /* Preparing kernels may run them on the device, which may be in use; without kernels the plan
     * does not include their workspaces. */
    bool kernels = !n->runner.device;
    struct graph *g = plan_graph(n, COMPILED_TRAIN, batch, kernels, e);
    int rc = -1;

    if (g)
        rc = check_room(n, COMPILED_TRAIN, batch, kernels, needs(n, g), beside, sharers, e);
    graph_destroy(g);
    return rc;
}

/* If the arena moves, graphs are bound again, and captured ones discarded. */
static int reserve_arena(struct network *n, enum compiled_mode mode, int batch,
                         const struct graph *g, struct err *e)
{
    bool moved;

    if (n->runner.device ? check_room(n, mode, batch, true, needs(n, g), 0, 1, e) ||
                               runner_reserve(&n->runner, g->arena_size, &moved, e)
                         : arena_reserve(&n->arena, g->arena_size, &moved, e))
        return -1;
    for (struct compiled *c = n->compiled; moved && c; c = c->next)
        bind_graph(n, c->graph);
    if (moved && n->compiled)
        captures_moved(&n->captures);
    return 0;
}

/* Waits for the device first, as kernels may be tried there and memory may move. */
static struct compiled *compile_graph(struct network *n, enum compiled_mode mode, int batch,
                                      struct err *e)
{
    struct compiled *c;

    if (n->runner.device && runner_wait(&n->runner, e) < 0)
        return NULL;
    c = mem_zero(1, sizeof *c, e);
    if (!c)
        return NULL;
    c->mode = mode;
    c->batch = batch;
    c->graph = plan_graph(n, mode, batch, true, e);
    if (!c->graph || reserve_arena(n, mode, batch, c->graph, e) < 0) {
        graph_destroy(c->graph);
        free(c);
        return NULL;
    }
    bind_graph(n, c->graph);
    c->next = n->compiled;
    n->compiled = c;
    return c;
}

struct compiled *compiled_get(struct network *n, enum compiled_mode mode, int batch,
                              struct err *e)
{
    if (batch < 1) {
        err_set(e, ERR_CONFIG, "a batch of %d images can't be run", batch);
        return NULL;
    }
    for (struct compiled *c = n->compiled; c; c = c->next)
        if (c->mode == mode && c->batch == batch)
            return c;
    return compile_graph(n, mode, batch, e);
}

/* Counts operations and bytes from the shapes of an op's tensors. */

#define MAX_KINDS 64

struct op_total {
    const struct op_kind *kind;
    double seconds, flop, bytes;
    double least; /* seconds, at the peak rates */
};

static const struct tensor *find_weights(const struct op *op)
{
    static const struct op_kind *const with[] = {
        &conv2d_kind, &conv2d_relu_kind, &conv2d_grad_kind, &conv2d_grad_input_kind,
        &conv_transpose2d_kind, &conv_transpose2d_grad_input_kind};

    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        if (op->kind == with[i])
            return op->in[1];
    return op->kind == &conv2d_grad_weights_kind || op->kind == &conv_transpose2d_grad_weights_kind
               ? op->out[0]
               : NULL;
}

/* Returns the multiplications and additions of one run: 2 per weight and pixel for convolutions, or
 * 4 for both gradients; 0 for other kinds, which are bound by memory. Each weight is used once for
 * each pixel of the smaller of input and output. */
static double count_flop(const struct op *op)
{
    const struct tensor *w = find_weights(op);

    if (!w)
        return 0;
    const struct tensor *a = op->in[0], *b = w == op->out[0] ? op->in[1] : op->out[0];
    return (op->kind == &conv2d_grad_kind ? 4 : 2) * (double)tensor_count(w) *
           fmin((double)tensor_pixels(a), (double)tensor_pixels(b));
}

/* Returns the bytes of the inputs that the op reads and of its outputs, each counted once. */
static double count_bytes(const struct op *op)
{
    const struct tensor *t;
    size_t nbytes = 0;

    for (int i = -1; (t = op_next(op, &i));)
        nbytes += tensor_nbytes(t);
    return (double)nbytes;
}

void profile_sum(const struct graph *g, double *flop, double *bytes)
{
    *flop = *bytes = 0;
    for (size_t i = 0; i < g->nops; i++) {
        *flop += count_flop(g->ops[i]);
        *bytes += count_bytes(g->ops[i]);
    }
}

static void print_line(const char *name, const char *shape, const struct op_total *t,
                       double all_seconds, FILE *out)
{
    double seconds = fmax(t->seconds, 1e-12);

    fprintf(out, "%-36s %-18s %9.3f ms %5.1f %% %8.3f GFLOP %7.1f GFLOP/s %7.1f GB/s", name, shape,
            t->seconds * 1e3, 100 * t->seconds / all_seconds, t->flop * 1e-9,
            t->flop * 1e-9 / seconds, t->bytes * 1e-9 / seconds);
    if (t->least > 0)
        fprintf(out, " %5.1f %% of peak", 100 * t->least / seconds);
    fputc('\n', out);
}

/* Operations and memory accesses overlap, so the slower of both determines the time. */
static double least_time(const struct op_total *t, const struct profile_peak *peak)
{
    if (!(peak->flop > 0 && peak->bytes > 0))
        return 0;
    return fmax(t->flop / peak->flop, t->bytes / peak->bytes);
}

static void add_total(struct op_total *totals, size_t *n, const struct op_kind *kind,
                      const struct op_total *t)
{
    size_t i = 0;

    while (i < *n && totals[i].kind != kind)
        i++;
    if (i == MAX_KINDS)
        return;
    if (i == *n)
        totals[(*n)++] = (struct op_total){.kind = kind};
    totals[i].seconds += t->seconds;
    totals[i].flop += t->flop;
    totals[i].bytes += t->bytes;
    totals[i].least += t->least;
}

static void print_totals(struct op_total *totals, size_t n, double all_seconds, FILE *out)
{
    for (; n > 0; n--) {
        size_t longest = 0;

        for (size_t i = 1; i < n; i++)
            if (totals[i].seconds > totals[longest].seconds)
                longest = i;
        print_line(totals[longest].kind->name, "", &totals[longest], all_seconds, out);
        totals[longest] = totals[n - 1];
    }
}

void profile_print(const struct graph *g, const struct profile_peak *peak, FILE *out)
{
    double all_seconds = 1e-12, runs = (double)(g->nruns ? g->nruns : 1);
    struct op_total totals[MAX_KINDS], all = {0};
    size_t n = 0;

    for (size_t i = 0; i < g->nops; i++)
        all_seconds += g->ops[i]->seconds / runs;
    for (size_t i = 0; i < g->nops; i++) {
        const struct op *op = g->ops[i];
        const struct shape *s = &op->in[0]->shape;
        struct op_total t = {op->kind, op->seconds / runs, count_flop(op), count_bytes(op), 0};
        char shape[64];

        snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64, s->dim[0],
                 s->dim[1], s->dim[2], s->dim[3]);
        t.least = least_time(&t, peak);
        print_line(op->kind->name, shape, &t, all_seconds, out);
        add_total(totals, &n, op->kind, &t);
        add_total(&all, &(size_t){1}, NULL, &t);
    }
    if (peak->flop > 0 && peak->bytes > 0)
        fprintf(out, "\npeak of %s: %.1f GFLOP/s, %.1f GB/s\n", peak->of, peak->flop * 1e-9,
                peak->bytes * 1e-9);
    else
        fprintf(out, "\nthe peak of %s is not known\n", peak->of);
    print_totals(totals, n, all_seconds, out);
    print_line("all", "", &all, all_seconds, out);
}
