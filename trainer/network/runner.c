/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a network on a device. */
#include "src/base.h"
#include "trainer/network/network_internal.h"

struct capture *captures_get(struct captures *r, const struct graph *graph, bool updates,
                             uint64_t shares, struct err *e)
{
    struct capture *one;

    for (one = r->first; one; one = one->next)
        if (one->graph == graph && one->updates == updates && one->shares == shares)
            return one;
    one = mem_zero(1, sizeof *one, e);
    if (!one)
        return NULL;
    *one = (struct capture){
        .graph = graph, .updates = updates, .shares = shares, .next = r->first};
    r->first = one;
    return one;
}

bool captures_know(const struct captures *r, uint64_t shares)
{
    const struct capture *one = r->first;

    while (one && one->shares != shares)
        one = one->next;
    return one;
}

static void discard(struct captures *r)
{
    for (struct capture *one = r->first; one; one = one->next) {
        if (one->device_graph)
            r->ops->discard(one->device_graph);
        one->device_graph = NULL;
    }
}

void captures_moved(struct captures *r)
{
    discard(r);
    r->moved = true;
}

void captures_forget(struct captures *r)
{
    discard(r);
    r->moved = false;
}

void captures_release(struct captures *r)
{
    discard(r);
    while (r->first) {
        struct capture *one = r->first;

        r->first = one->next;
        free(one);
    }
}

/* A ring of DEVICE_SLOTS slots: a slot is waited for before it is used again. */

int runner_open(struct runner *s, const struct device_ops *ops, int index, struct err *e)
{
    s->ops = ops;
    s->device = ops->open(index, e);
    return s->device ? 0 : -1;
}

void runner_close(struct runner *s)
{
    struct err e;

    if (!s->device)
        return;
    (void)s->ops->drain(s->device, &e);
    for (int i = 0; i < DEVICE_SLOTS; i++) {
        s->ops->free(s->device, DEVICE_HOST, s->host[i]);
        s->ops->free(s->device, DEVICE_LOCAL, s->local[i]);
    }
    s->ops->free(s->device, DEVICE_HOST, s->logits);
    s->ops->free(s->device, DEVICE_LOCAL, s->arena);
    s->ops->close(s->device);
    *s = (struct runner){0};
}

/* Waits for the slot's run and handles its results. */
static int wait_slot(struct runner *s, int slot, struct err *e)
{
    struct device_sums sums;
    enum runner_results run = s->runs[slot];

    s->runs[slot] = RUNNER_NONE;
    if (s->ops->wait(s->device, slot, &sums, e))
        return -1;
    if (run == RUNNER_TRAINED)
        s->loss += sums.loss;
    if (run != RUNNER_NONE && s->done)
        s->done(s->done_arg, &sums);
    return 0;
}

int runner_wait(struct runner *s, struct err *e)
{
    for (int i = 0; i < DEVICE_SLOTS; i++)
        if (wait_slot(s, (s->slot + i) % DEVICE_SLOTS, e))
            return -1;
    return s->ops->drain(s->device, e);
}

/* Makes *p a block of at least nbytes; if it was smaller, its contents are lost. */
static int grow_block(struct runner *s, enum device_memory kind, void **p, size_t *size,
                      size_t nbytes, struct err *e)
{
    if (nbytes <= *size)
        return 0;
    if (runner_wait(s, e))
        return -1;
    s->ops->free(s->device, kind, *p);
    *size = 0;
    *p = s->ops->alloc(s->device, kind, nbytes, e);
    if (!*p)
        return -1;
    *size = nbytes;
    return 0;
}

int runner_reserve(struct runner *s, size_t nbytes, bool *moved, struct err *e)
{
    *moved = nbytes > s->arena_size;
    if (*moved)
        s->kept = NULL;
    return grow_block(s, DEVICE_LOCAL, &s->arena, &s->arena_size, nbytes, e);
}

int runner_room(const struct runner *s, size_t *nbytes, struct err *e)
{
    if (s->ops->room(s->device, nbytes, e))
        return -1;
    *nbytes += s->arena_size;
    for (int i = 0; i < DEVICE_SLOTS; i++)
        *nbytes += s->local_size[i];
    return 0;
}

/* Returns the size of so many records with the graph's batch as floats. */
static size_t batch_size(const struct graph *g, size_t records)
{
    return records * record_size(RECORD_NUMBERS, tensor_count(g->input) / records, RECORD_NUMBERS,
                                 tensor_count(g->target) / records);
}

size_t runner_slots_size(const struct graph *g)
{
    return DEVICE_SLOTS * batch_size(g, (size_t)g->input->shape.dim[DIM_N]);
}

int runner_await(struct runner *s, struct err *e)
{
    return wait_slot(s, s->slot, e);
}

struct record *runner_input(struct runner *s, const struct graph *g, struct err *e)
{
    int i = s->slot;
    size_t size = s->host_size[i];

    if (wait_slot(s, i, e) ||
        grow_block(s, DEVICE_HOST, &s->host[i], &s->host_size[i], batch_size(g, 1), e))
        return NULL;
    struct record *r = s->host[i];
    if (s->host_size[i] > size) /* a step without images runs what is there */
        memset(r, 0, s->host_size[i]);
    *r = (struct record){RECORD_NUMBERS, RECORD_NUMBERS, 1, 0};
    return r;
}

static int queue_loss_divisor(const struct runner *s, struct exec *x, struct err *e)
{
    if (x->sum(x->sum_arg, s->ops->loss_divisor(s->device), 1, e))
        return -1;
    s->ops->divide_loss(s->device);
    return 0;
}

struct queued_ops {
    struct runner *runner;
    const struct runner_work *work;
    struct exec *x;
};

/* A device_work_f. */
static int queue_ops(void *arg, struct err *e)
{
    const struct queued_ops *q = arg;
    const struct runner_work *w = q->work;
    struct runner *s = q->runner;

    if ((q->x->divides_loss && queue_loss_divisor(s, q->x, e)) ||
        (w->ready && w->ready(w->arg, 0, e)))
        return -1;
    if (w->graph ? graph_run(w->graph, q->x, w->ready, w->arg, e)
                 : w->ready && w->ready(w->arg, w->upto, e))
        return -1;
    if (q->x->update)
        s->ops->update(s->device, q->x->update);
    return 0;
}

/* Captures the run. captured->device_graph stays NULL where that fails on a replica. */
static int capture_ops(struct queued_ops *q, struct err *e)
{
    struct runner *s = q->runner;
    struct capture *r = q->work->captured;
    struct err why;
    bool all = true;

    r->device_graph = s->ops->capture(s->device, queue_ops, q, &why);
    if (s->agree(s->agree_arg, r, r->device_graph ? NULL : &why, &all, e)) {
        if (!r->device_graph)
            *e = why; /* the first error */
        return -1;
    }
    if (!all) {
        s->ops->discard(r->device_graph);
        r->device_graph = NULL;
    }
    return 0;
}

/* A run for training changes weights, and so begins all ops itself. Runs for inference do so only
 * after such a run, or one of another graph, and are captured without. */
static int begin_ops(struct runner *s, const struct runner_work *w, struct exec *x, struct err *e)
{
    bool trains = !w->graph || w->graph->training;

    if (trains || s->kept != w->graph) {
        s->kept = NULL;
        if (!trains && graph_begin_ops(w->graph->ops, w->graph->nops, x, e))
            return -1;
    }
    s->kept = trains ? NULL : w->graph;
    x->kept = !trains;
    return 0;
}

/* The first run is not captured, as libraries load their kernels in it. */
static int run_ops(struct runner *s, const struct runner_work *w, struct exec *x, struct err *e)
{
    struct capture *r = w->captured;
    struct queued_ops q = {s, w, x};

    if (r && r->has_run && !r->device_graph && capture_ops(&q, e))
        return -1;
    if (r)
        r->has_run = true;
    return r && r->device_graph ? s->ops->launch(s->device, r->device_graph, e) : queue_ops(&q, e);
}

/* Inference reads no targets. */
static int send_batch(struct runner *s, const struct graph *g, struct err *e)
{
    size_t images = tensor_count(g->input), n = tensor_count(g->target);
    size_t targets = g->training || g->measures ? n : 0;
    struct record_batch b = s->next;
    int i = s->slot;

    if (b.count == 0) {
        b.records = runner_input(s, g, e);
        b.pitch = b.nbytes = record_size(RECORD_NUMBERS, images, RECORD_NUMBERS, targets);
        b.count = 1;
    }
    s->next.count = 0;
    if (!b.records || wait_slot(s, i, e) ||
        grow_block(s, DEVICE_LOCAL, &s->local[i], &s->local_size[i], runner_slots_size(g) /
                   DEVICE_SLOTS, e))
        return -1;
    struct device_batch batch = {.records = b, .local = s->local[i], .image = g->input->data,
                                 .target = g->target->data, .images = images / b.count,
                                 .targets = targets / b.count};
    return s->ops->send(s->device, &batch, e);
}

int runner_run(struct runner *s, const struct runner_work *w, struct exec *x, struct err *e)
{
    x->device = s->device;
    x->device_ops = s->ops;
    if ((w->graph ? send_batch(s, w->graph, e) : wait_slot(s, s->slot, e)) ||
        s->ops->begin(s->device, s->slot, x, e) || begin_ops(s, w, x, e) || run_ops(s, w, x, e) ||
        s->ops->end(s->device, s->slot, e))
        return -1;
    s->runs[s->slot] = w->kind;
    s->slot = (s->slot + 1) % DEVICE_SLOTS;
    return 0;
}

const float *runner_logits(struct runner *s, const struct graph *g, struct err *e)
{
    size_t nbytes = tensor_nbytes(g->logits);

    if (grow_block(s, DEVICE_HOST, &s->logits, &s->logits_size, nbytes, e) ||
        s->ops->copy(s->device, s->logits, g->logits->data, nbytes, e) || runner_wait(s, e))
        return NULL;
    return s->logits;
}
