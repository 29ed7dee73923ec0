/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/comm_async.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "src/mem.h"

struct async {
    struct comm_ops ops; /* async_ops, with the name of the inner communicator */
    struct comm *inner;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slice *queue; /* slices [done, n) are still to be summed */
    size_t n, done, capacity;
    /* Of the sums since the last wait; of those before it, for the caller. As large as queue. */
    struct comm_span *spans, *reported;
    size_t nspans;
    bool fusing;
    struct comm_async_fusion fusion;
    float *buffer;         /* of the fusion */
    size_t room;           /* floats that fit into buffer */
    bool owns_buffer;
    struct slice *cycle; /* the slices of the current cycle */
    size_t cycle_capacity;
    double last_cycle;
    bool ending, failed, joined;
    struct err error;
};

static struct async *async_of(struct comm *c)
{
    return c->priv;
}

static int sum_now(struct comm *inner, float *values, size_t n, struct err *e)
{
    return inner->ops->start_sum_float(inner, values, n, e) || inner->ops->wait(inner, e) ? -1 : 0;
}

/* Sums as many of the slices as fit into the buffer, at least one. Returns how many, or 0 on
 * error. */
static size_t sum_fused(struct async *a, const struct slice *slices, size_t n, struct err *e)
{
    size_t taken = 0, total = 0, at = 0;

    while (taken < n && slices[taken].n <= a->room - total)
        total += slices[taken++].n;
    if (taken < 2)
        return sum_now(a->inner, slices->values, slices->n, e) ? 0 : 1;
    for (size_t i = 0; i < taken; at += slices[i++].n)
        memcpy(a->buffer + at, slices[i].values, slices[i].n * sizeof *a->buffer);
    if (sum_now(a->inner, a->buffer, total, e))
        return 0;
    at = 0;
    for (size_t i = 0; i < taken; at += slices[i++].n)
        memcpy(slices[i].values, a->buffer + at, slices[i].n * sizeof *a->buffer);
    return taken;
}

static int open_buffer(struct async *a, struct err *e)
{
    if (a->buffer)
        return 0;
    a->room = a->fusion.nbytes / sizeof *a->buffer;
    a->buffer = mem_alloc(a->room, sizeof *a->buffer, e);
    a->owns_buffer = true;
    return a->buffer ? 0 : err_prefix(e, "a fusion buffer of %zu bytes", a->fusion.nbytes);
}

/* Copies the slices that all ranks have started to a->cycle. `ready`, this rank's number of them,
 * is at least 1. Returns how many all have, or 0 on error. */
static size_t agree_on_slices(struct async *a, size_t ready, struct err *e)
{
    double fewest = -(double)ready;

    if (comm_max_double(a->inner, &fewest, 1, e))
        return 0;
    size_t n = (size_t)-fewest;
    if (n > 0 && mem_grow(&a->cycle, n - 1, &a->cycle_capacity, sizeof *a->cycle, e))
        return 0;
    pthread_mutex_lock(&a->lock);
    memcpy(a->cycle, a->queue + a->done, n * sizeof *a->cycle);
    pthread_mutex_unlock(&a->lock);
    return n;
}

/* Sums the slices of one cycle, at least one: a rank calls this only if it has started one. Returns
 * how many, or 0 on error. */
static size_t run_cycle(struct async *a, struct err *e)
{
    clock_sleep(a->last_cycle + a->fusion.cycle_s - clock_now());
    a->last_cycle = clock_now();
    pthread_mutex_lock(&a->lock);
    size_t ready = a->n - a->done;
    pthread_mutex_unlock(&a->lock);
    if (open_buffer(a, e))
        return 0;
    size_t n = agree_on_slices(a, ready, e);
    for (size_t at = 0, taken; at < n; at += taken) {
        taken = sum_fused(a, a->cycle + at, n - at, e);
        if (taken == 0)
            return 0;
    }
    return n;
}

/* Sums the next slices. The caller holds the lock, which is released during the sum. */
static void sum_next(struct async *a)
{
    struct slice s = a->queue[a->done];
    struct comm *inner = a->inner;
    struct err e;

    pthread_mutex_unlock(&a->lock);
    double began = clock_now();
    size_t n = a->fusing ? run_cycle(a, &e) : sum_now(inner, s.values, s.n, &e) ? 0 : 1;
    double ended = clock_now();
    pthread_mutex_lock(&a->lock);
    a->spans[a->nspans++] = (struct comm_span){began, ended};
    a->done += n ? n : 1;
    if (n == 0) {
        a->failed = true;
        a->error = e;
    }
    pthread_cond_broadcast(&a->changed);
}

static void *sum_slices(void *arg)
{
    struct async *a = arg;

    pthread_mutex_lock(&a->lock);
    while (!a->ending) {
        if (a->done < a->n && !a->failed)
            sum_next(a);
        else
            pthread_cond_wait(&a->changed, &a->lock);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* The caller holds the lock. There may be as many spans as slices. */
static int grow_queue(struct async *a, struct err *e)
{
    size_t room = a->capacity, reported_room = room;

    if (mem_grow(&a->spans, a->n, &room, sizeof *a->spans, e) ||
        mem_grow(&a->reported, a->n, &reported_room, sizeof *a->reported, e))
        return -1;
    return mem_grow(&a->queue, a->n, &a->capacity, sizeof *a->queue, e);
}

static int async_start_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    struct async *a = async_of(c);

    pthread_mutex_lock(&a->lock);
    int rc = grow_queue(a, e);
    if (rc == 0) {
        a->queue[a->n++] = (struct slice){values, n, REDUCE_SUM_FLOAT};
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return rc;
}

/* Publishes the spans in *c. Called with the lock held while no sum is in flight. */
static void report_spans(struct comm *c, struct async *a)
{
    struct comm_span *spans = a->spans;

    a->spans = a->reported;
    a->reported = spans;
    c->spans = spans;
    c->nspans = a->nspans;
    a->nspans = 0;
}

/* Needs no deadline, because the inner communicator has one. */
static int async_wait(struct comm *c, struct err *e)
{
    struct async *a = async_of(c);
    int rc = 0;

    pthread_mutex_lock(&a->lock);
    while (a->done < a->n && !a->failed)
        pthread_cond_wait(&a->changed, &a->lock);
    if (a->failed) {
        *e = a->error;
        c->relayed = a->inner->relayed;
        rc = -1;
    } else {
        a->n = a->done = 0;
        report_spans(c, a);
    }
    pthread_mutex_unlock(&a->lock);
    return rc;
}

/* Returns the inner communicator once no sum is in flight, or NULL on error. */
static struct comm *acquire_inner(struct comm *c, struct err *e)
{
    return async_wait(c, e) ? NULL : async_of(c)->inner;
}

static int release_inner(struct comm *c, int rc)
{
    c->relayed = async_of(c)->inner->relayed;
    return rc;
}

static int async_place(struct comm *c, size_t n, float **values, struct err *e)
{
    struct async *a = async_of(c);
    struct comm *inner = acquire_inner(c, e);
    size_t most = a->fusion.nbytes / sizeof *a->buffer;

    if (!inner || !a->fusing)
        return inner ? release_inner(c, inner->ops->place(inner, n, values, e)) : -1;
    *values = NULL; /* only the fusion buffer is in that memory */
    if (a->owns_buffer)
        free(a->buffer);
    a->buffer = NULL;
    a->owns_buffer = false;
    a->room = n < most ? n : most;
    return release_inner(c, inner->ops->place(inner, a->room, &a->buffer, e));
}

static int async_reduce(struct comm *c, void *values, size_t n, enum reduce_op op, struct err *e)
{
    struct comm *inner = acquire_inner(c, e);

    return inner ? release_inner(c, inner->ops->reduce(inner, values, n, op, e)) : -1;
}

/* Called by the rank itself while the thread may be summing. */
static int async_sum_small(struct comm *c, double *values, size_t n, struct err *e)
{
    struct comm *inner = async_of(c)->inner;

    inner->spins = c->spins;
    return release_inner(c, inner->ops->sum_small(inner, values, n, e));
}

static int async_broadcast(struct comm *c, void *data, size_t nbytes, int root, struct err *e)
{
    struct comm *inner = acquire_inner(c, e);

    return inner ? release_inner(c, inner->ops->broadcast(inner, data, nbytes, root, e)) : -1;
}

static int async_gather(struct comm *c, const void *one, void *all, size_t nbytes, struct err *e)
{
    struct comm *inner = acquire_inner(c, e);

    return inner ? release_inner(c, inner->ops->gather(inner, one, all, nbytes, e)) : -1;
}

static int async_barrier(struct comm *c, struct err *e)
{
    struct comm *inner = acquire_inner(c, e);

    return inner ? release_inner(c, inner->ops->barrier(inner, e)) : -1;
}

/* Ends the thread. Slices that are still queued are not summed. now: a sum in flight is interrupted
 * as if by a signal. */
static void end_thread(struct async *a, bool now)
{
    pthread_mutex_lock(&a->lock);
    a->ending = true;
    if (now && a->done < a->n)
        a->inner->leaving = SIGTERM;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    if (!a->joined)
        pthread_join(a->thread, NULL);
    a->joined = true;
}

static void destroy_async(struct async *a)
{
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a->queue);
    free(a->spans);
    free(a->reported);
    free(a->cycle);
    if (a->owns_buffer)
        free(a->buffer);
    free(a);
}

static void async_abort(struct comm *c, const struct err *e)
{
    struct async *a = async_of(c);

    end_thread(a, true);
    a->inner->relayed = c->relayed;
    a->inner->ops->abort(a->inner, e);
}

static void async_close(struct comm *c)
{
    struct async *a = async_of(c);

    end_thread(a, false);
    a->inner->ops->close(a->inner);
    destroy_async(a);
    free(c);
}

static const struct comm_ops async_ops = {
    .place = async_place,
    .reduce = async_reduce,
    .start_sum_float = async_start_sum_float,
    .wait = async_wait,
    .sum_small = async_sum_small,
    .broadcast = async_broadcast,
    .gather = async_gather,
    .barrier = async_barrier,
    .abort = async_abort,
    .close = async_close,
};

struct comm *comm_async_open(struct comm *inner, const struct comm_async_fusion *fusion,
                             struct err *e)
{
    struct comm *c = mem_zero(1, sizeof *c, e);
    struct async *a = c ? mem_zero(1, sizeof *a, e) : NULL;

    if (!a) {
        free(c);
        return NULL;
    }
    *c = *inner;
    a->ops = async_ops;
    a->ops.name = inner->ops->name;
    a->inner = inner;
    a->fusing = fusion != NULL;
    if (fusion)
        a->fusion = *fusion;
    c->ops = &a->ops;
    c->priv = a;
    inner->background = true;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    int reason = pthread_create(&a->thread, NULL, sum_slices, a);
    if (reason == 0)
        return c;
    err_errno(e, ERR_INTERNAL, reason, "cannot start a thread for communication");
    inner->background = false;
    destroy_async(a);
    free(c);
    return NULL;
}
