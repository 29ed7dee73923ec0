/* SPDX-License-Identifier: BSD-3-Clause */
/* From a model to a graph that can run: gradients, dtype, fusion, casts, kernels, memory. */
#include "config.h"
#include "trainer/network/compiled.h"

#include <stdlib.h>
#include <sys/param.h>

#include "src/mem.h"
#include "trainer/core/graph.h"
#include "trainer/core/host.h"
#include "trainer/core/kernel.h"
#include "trainer/passes/fuse.h"
#include "trainer/passes/precision.h"

#define HOST_RESERVE ((size_t)32 << 20) /* bytes for stacks of threads and images being decoded */

struct graph *compiled_build(const struct compiled_set *s, enum compiled_mode mode, int batch,
                             struct err *e)
{
    struct graph *g = graph_create(mode == COMPILED_TRAIN, e);

    if (!g)
        return NULL;
    g->measures = mode == COMPILED_MEASURE;
    if (model_build(s->model, g, s->config, batch, e) < 0 ||
        (g->training && graph_backward(g, e) < 0)) {
        graph_destroy(g);
        return NULL;
    }
    return g;
}

/* Returns the graph as it will run. With kernels it can be bound to memory; without, its memory is
 * planned except for the kernels' workspaces. */
static struct graph *plan_graph(const struct compiled_set *s, enum compiled_mode mode, int batch,
                                bool kernels, struct err *e)
{
    struct graph *g = compiled_build(s, mode, batch, e);

    if (!g)
        return NULL;
    if (s->runner->device)
        s->runner->ops->use(s->runner->device);
    fuse_drop_bias_grads(g);
    precision_mark(g, s->config->dtype);
    if (precision_narrow(g, s->backend, e) < 0 ||
        (s->backend->fuses && fuse_graph(g, s->backend, e) < 0) ||
        precision_lower(g, s->backend, e) < 0 ||
        (kernels ? graph_compile(g, s->backend, s->weights, e) : plan_arena(g, e)) < 0) {
        graph_destroy(g);
        return NULL;
    }
    return g;
}

void compiled_release(struct compiled_set *s)
{
    while (s->first) {
        struct compiled *c = s->first;

        s->first = c->next;
        graph_destroy(c->graph);
        free(c);
    }
    arena_release(&s->arena);
}

static void bind_graph(const struct compiled_set *s, struct graph *g)
{
    graph_bind(g, s->weights, s->runner->device ? s->runner->arena : s->arena.base);
}

/* Returns the bytes that the graph needs where it runs. */
static size_t needs(const struct compiled_set *s, const struct graph *g)
{
    return g->arena_size + (s->runner->device ? runner_slots_size(g) : 0);
}

/* Returns the largest batch below `batch`, which does not fit, that needs at most room bytes, or 0.
 * beside: as in network_check_room. */
static int largest_batch(const struct compiled_set *s, enum compiled_mode mode, int batch,
                         bool kernels, size_t beside, size_t room)
{
    int fits = 0;

    while (batch - fits > 1) {
        struct err e;
        int middle = fits + (batch - fits) / 2;
        struct graph *g = plan_graph(s, mode, middle, kernels, &e);
        bool fit = g && needs(s, g) + beside * (size_t)middle <= room;

        graph_destroy(g);
        if (fit)
            fits = middle;
        else
            batch = middle;
    }
    return fits;
}

static int find_room(const struct compiled_set *s, int sharers, struct host_memory *room,
                     struct err *e)
{
    if (!s->runner->device) {
        *room = host_memory_limit("", sharers);
        room->nbytes -= MIN(room->nbytes, HOST_RESERVE);
        return 0;
    }
    if (runner_room(s->runner, &room->nbytes, e) < 0)
        return -1;
    room->nbytes -= room->nbytes / 32; /* for code and workspaces of libraries */
    room->reason = "what the GPU has left";
    return 0;
}

/* nbytes: the arena's size; beside: further bytes per image in the host's memory. */
static int check_room(const struct compiled_set *s, enum compiled_mode mode, int batch,
                      bool kernels, size_t nbytes, size_t beside, int sharers, struct err *e)
{
    struct host_memory room;

    if (find_room(s, sharers, &room, e))
        return -1;
    if (s->runner->device)
        beside = 0;
    nbytes += beside * (size_t)batch;
    if (nbytes <= room.nbytes)
        return 0;
    int fits = largest_batch(s, mode, batch, kernels, beside, room.nbytes);
    char advice[96] = "not even one image fits";
    if (fits > 0)
        snprintf(advice, sizeof advice, "a batch of %d fits (--batch-size, train.accumulate)",
                 fits);
    return err_set(e, ERR_CONFIG, "a batch of %d needs %.2f GiB for activations%s, and there are "
                   "%.2f GiB (%s): %s", batch, (double)nbytes / (1 << 30),
                   beside ? " and images" : "",
                   (double)room.nbytes / (1 << 30), room.reason, advice);
}

int compiled_check_room(const struct compiled_set *s, int batch, size_t beside, int sharers,
                        struct err *e)
{
    /* Preparing kernels may run them on the device, which may be in use; without kernels the plan
     * does not include their workspaces. */
    bool kernels = !s->runner->device;
    struct graph *g = plan_graph(s, COMPILED_TRAIN, batch, kernels, e);
    int rc = -1;

    if (g)
        rc = check_room(s, COMPILED_TRAIN, batch, kernels, needs(s, g), beside, sharers, e);
    graph_destroy(g);
    return rc;
}

/* If the arena moves, graphs are bound again, and captured ones discarded. */
static int reserve_arena(struct compiled_set *s, enum compiled_mode mode, int batch,
                         const struct graph *g, struct err *e)
{
    bool moved;

    if (s->runner->device ? check_room(s, mode, batch, true, needs(s, g), 0, 1, e) ||
                               runner_reserve(s->runner, g->arena_size, &moved, e)
                         : arena_reserve(&s->arena, g->arena_size, &moved, e))
        return -1;
    for (struct compiled *c = s->first; moved && c; c = c->next)
        bind_graph(s, c->graph);
    if (moved && s->first)
        captures_moved(s->captures);
    return 0;
}

/* Waits for the device first, as kernels may be tried there and memory may move. */
static struct compiled *compile_graph(struct compiled_set *s, enum compiled_mode mode, int batch,
                                      struct err *e)
{
    struct compiled *c;

    if (s->runner->device && runner_wait(s->runner, e) < 0)
        return NULL;
    c = mem_zero(1, sizeof *c, e);
    if (!c)
        return NULL;
    c->mode = mode;
    c->batch = batch;
    c->graph = plan_graph(s, mode, batch, true, e);
    if (!c->graph || reserve_arena(s, mode, batch, c->graph, e) < 0) {
        graph_destroy(c->graph);
        free(c);
        return NULL;
    }
    bind_graph(s, c->graph);
    c->next = s->first;
    s->first = c;
    return c;
}

struct compiled *compiled_get(struct compiled_set *s, enum compiled_mode mode, int batch,
                              struct err *e)
{
    if (batch < 1) {
        err_set(e, ERR_CONFIG, "a batch of %d images can't be run", batch);
        return NULL;
    }
    for (struct compiled *c = s->first; c; c = c->next)
        if (c->mode == mode && c->batch == batch)
            return c;
    return compile_graph(s, mode, batch, e);
}

size_t compiled_arena(const struct compiled_set *s)
{
    return s->runner->device ? s->runner->arena_size : s->arena.size;
}
