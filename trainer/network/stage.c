/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of DEVICE_SLOTS slots: a slot is waited for before it is used again. */
#include "config.h"
#include "trainer/network/stage.h"

int stage_open(struct stage *s, const struct device_ops *ops, int index, struct err *e)
{
    s->ops = ops;
    s->device = ops->open(index, e);
    return s->device ? 0 : -1;
}

void stage_close(struct stage *s)
{
    struct err e;

    if (!s->device)
        return;
    (void)s->ops->drain(s->device, &e);
    for (int i = 0; i < DEVICE_SLOTS; i++)
        s->ops->free(s->device, DEVICE_HOST, s->host[i]);
    s->ops->free(s->device, DEVICE_HOST, s->logits);
    s->ops->free(s->device, DEVICE_LOCAL, s->arena);
    s->ops->close(s->device);
    *s = (struct stage){0};
}

/* Waits for the slot's run and handles its results. */
static int wait_slot(struct stage *s, int slot, struct err *e)
{
    struct device_sums sums;
    enum stage_run run = s->runs[slot];

    s->runs[slot] = STAGE_NONE;
    if (s->ops->wait(s->device, slot, &sums, e))
        return -1;
    if (run == STAGE_LOSS || run == STAGE_REPORTED)
        s->loss += sums.loss;
    if (run >= STAGE_REPORTED && s->done)
        s->done(s->done_arg, &sums);
    return 0;
}

int stage_wait(struct stage *s, struct err *e)
{
    for (int i = 0; i < DEVICE_SLOTS; i++)
        if (wait_slot(s, (s->slot + i) % DEVICE_SLOTS, e))
            return -1;
    return s->ops->drain(s->device, e);
}

/* Makes *p a block of at least nbytes; if it was smaller, its contents are lost. */
static int grow_block(struct stage *s, enum device_memory kind, void **p, size_t *size,
                      size_t nbytes, struct err *e)
{
    if (nbytes <= *size)
        return 0;
    if (stage_wait(s, e))
        return -1;
    s->ops->free(s->device, kind, *p);
    *size = 0;
    *p = s->ops->alloc(s->device, kind, nbytes, e);
    if (!*p)
        return -1;
    *size = nbytes;
    return 0;
}

int stage_reserve(struct stage *s, size_t nbytes, bool *moved, struct err *e)
{
    *moved = nbytes > s->arena_size;
    if (*moved)
        s->kept = NULL;
    return grow_block(s, DEVICE_LOCAL, &s->arena, &s->arena_size, nbytes, e);
}

int stage_room(struct stage *s, size_t *nbytes, struct err *e)
{
    if (s->ops->room(s->device, nbytes, e))
        return -1;
    *nbytes += s->arena_size;
    return 0;
}


float *stage_input(struct stage *s, const struct graph *g, struct err *e)
{
    int i = s->slot;

    if (wait_slot(s, i, e) ||
        grow_block(s, DEVICE_HOST, &s->host[i], &s->host_size[i],
                   tensor_nbytes(g->input) + tensor_nbytes(g->target), e))
        return NULL;
    return s->host[i];
}

static int queue_weight(const struct stage *s, struct exec *x, struct err *e)
{
    if (x->sum(x->sum_arg, s->ops->weight(s->device), 1, e))
        return -1;
    s->ops->weigh(s->device);
    return 0;
}

struct queued_ops {
    struct stage *stage;
    const struct stage_work *work;
    struct exec *x;
};

/* A device_work_f. */
static int queue_ops(void *arg, struct err *e)
{
    const struct queued_ops *q = arg;
    const struct stage_work *w = q->work;
    struct stage *s = q->stage;

    if ((q->x->weighs && queue_weight(s, q->x, e)) || (w->ready && w->ready(w->arg, 0, e)))
        return -1;
    if (w->graph ? graph_run(w->graph, q->x, w->ready, w->arg, e)
                 : w->ready && w->ready(w->arg, w->upto, e))
        return -1;
    if (q->x->update)
        s->ops->update(s->device, q->x->update);
    return 0;
}

/* Captures the run. recording.captured stays NULL where that fails on a replica. */
static int record_ops(struct queued_ops *q, struct err *e)
{
    struct stage *s = q->stage;
    struct recording *r = q->work->recording;
    struct err why;
    bool all = true;

    r->captured = s->ops->capture(s->device, queue_ops, q, &why);
    if (s->agree(s->agree_arg, r, r->captured ? NULL : &why, &all, e)) {
        if (!r->captured)
            *e = why; /* the first error */
        return -1;
    }
    if (!all) {
        s->ops->discard(r->captured);
        r->captured = NULL;
    }
    return 0;
}

/* A run for training changes weights, and so begins all ops itself. Runs for inference do so only
 * after such a run, or one of another graph, and are recorded without. */
static int begin_ops(struct stage *s, const struct stage_work *w, struct exec *x, struct err *e)
{
    bool trains = !w->graph || w->graph->training;

    if (trains || s->kept != w->graph) {
        s->kept = NULL;
        if (!trains && graph_begin(w->graph, x, e))
            return -1;
    }
    s->kept = trains ? NULL : w->graph;
    x->kept = !trains;
    return 0;
}

/* The first run is not recorded, as libraries load their kernels in it. */
static int run_ops(struct stage *s, const struct stage_work *w, struct exec *x, struct err *e)
{
    struct recording *r = w->recording;
    struct queued_ops q = {s, w, x};

    if (r && r->has_run && !r->captured && record_ops(&q, e))
        return -1;
    if (r)
        r->has_run = true;
    return r && r->captured ? s->ops->launch(s->device, r->captured, e) : queue_ops(&q, e);
}

static int send_input(struct stage *s, const struct graph *g, struct err *e)
{
    const float *host = stage_input(s, g, e);

    return !host || s->ops->copy(s->device, g->input->data, host, tensor_nbytes(g->input), e) ||
                   s->ops->copy(s->device, g->target->data, host + tensor_count(g->input),
                                tensor_nbytes(g->target), e)
               ? -1
               : 0;
}

int stage_run(struct stage *s, const struct stage_work *w, struct exec *x, struct err *e)
{
    x->device = s->device;
    x->device_ops = s->ops;
    if ((w->graph ? send_input(s, w->graph, e) : wait_slot(s, s->slot, e)) ||
        s->ops->begin(s->device, s->slot, x, e) || begin_ops(s, w, x, e) || run_ops(s, w, x, e) ||
        s->ops->end(s->device, s->slot, e))
        return -1;
    s->runs[s->slot] = w->kind;
    s->slot = (s->slot + 1) % DEVICE_SLOTS;
    return 0;
}

const float *stage_logits(struct stage *s, const struct graph *g, struct err *e)
{
    size_t nbytes = tensor_nbytes(g->logits);

    if (grow_block(s, DEVICE_HOST, &s->logits, &s->logits_size, nbytes, e) ||
        s->ops->copy(s->device, s->logits, g->logits->data, nbytes, e) || stage_wait(s, e))
        return NULL;
    return s->logits;
}
