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
    bool ending, failed, joined;
    struct err error;
};

static struct async *async_of(struct comm *c)
{
    return c->priv;
}

/* Sums the next slice. The caller holds the lock, which is released during the sum. */
static void sum_next(struct async *a)
{
    struct slice s = a->queue[a->done];
    struct comm *inner = a->inner;
    struct err e;

    pthread_mutex_unlock(&a->lock);
    double began = clock_now();
    int rc = inner->ops->start_sum_float(inner, s.values, s.n, &e) || inner->ops->wait(inner, &e);
    double ended = clock_now();
    pthread_mutex_lock(&a->lock);
    a->spans[a->nspans++] = (struct comm_span){began, ended};
    a->done++;
    if (rc) {
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

static int async_reduce_buffer(struct comm *c, size_t n, float **values, struct err *e)
{
    struct comm *inner = acquire_inner(c, e);

    return inner ? release_inner(c, inner->ops->reduce_buffer(inner, n, values, e)) : -1;
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

static int async_exchange(struct comm *c, int peer, char *data, size_t nbytes, struct err *e)
{
    struct comm *inner = acquire_inner(c, e);

    return inner ? release_inner(c, inner->ops->exchange(inner, peer, data, nbytes, e)) : -1;
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
    .reduce_buffer = async_reduce_buffer,
    .reduce = async_reduce,
    .start_sum_float = async_start_sum_float,
    .wait = async_wait,
    .sum_small = async_sum_small,
    .broadcast = async_broadcast,
    .gather = async_gather,
    .barrier = async_barrier,
    .exchange = async_exchange,
    .abort = async_abort,
    .close = async_close,
};

struct comm *comm_async_open(struct comm *inner, struct err *e)
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
