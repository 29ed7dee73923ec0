/* SPDX-License-Identifier: BSD-3-Clause */
/* What communicators have in common, that of a single rank, and the thread that sums in the
 * background. */
#include "src/base.h"
#include "trainer/comm/comm.h"

#include <pthread.h>
#include <signal.h>

#include "src/clock.h"
#include "trainer/comm/comm_internal.h"

struct comm *comm_create(const struct comm_ops *ops, const struct comm_config *config, void *priv,
                         struct err *e)
{
    struct comm *c = mem_zero(1, sizeof *c, e);

    if (!c)
        return NULL;
    *c = (struct comm){.ops = ops, .rank = config->rank, .size = config->size,
                       .timeout_s = config->timeout_s, .interrupt = config->interrupt,
                       .lifeline = config->lifeline, .priv = priv};
    snprintf(c->host, sizeof c->host, "%s", config->host);
    return c;
}

void comm_count(struct comm *c)
{
    c->ncollectives++;
    if (c->lifeline)
        lifeline_count(c->lifeline);
}

void comm_enter(struct comm *c, const char *what)
{
    c->what = what;
    comm_count(c);
}

int comm_check_lifeline(struct comm *c, struct err *e)
{
    bool relayed = false;

    if (!c->lifeline || lifeline_check(c->lifeline, &relayed, e) == 0)
        return 0;
    c->relayed = relayed;
    return -1;
}

static int check_interrupt(const struct comm *c, struct err *e)
{
    return c->leaving ? err_signal(e, c->leaving) : err_interrupt(e, c->interrupt);
}

int comm_check_wait(struct comm *c, const char *what, double waited_s, struct err *e)
{
    bool relayed = false;

    if (comm_check_lifeline(c, e) || check_interrupt(c, e))
        return -1;
    if (waited_s <= c->timeout_s)
        return 0;
    if (c->lifeline && lifeline_ask(c->lifeline, &relayed, e)) {
        c->relayed = relayed;
        return -1;
    }
    return err_set(e, ERR_PEER, "rank %d of %d on %s: %s (collective %lu) did not end within %g s: "
                   "another rank is gone or stuck; its output or the system's log says why",
                   c->rank, c->size, c->host, what, c->ncollectives, c->timeout_s);
}

const char comm_small_sum[] = "a sum within a step";

int comm_check_main(void *arg, double waited_s, struct err *e)
{
    struct comm *c = arg;

    return comm_check_wait(c, c->what, waited_s, e);
}

int comm_check_small(void *arg, double waited_s, struct err *e)
{
    return comm_check_wait(arg, comm_small_sum, waited_s, e);
}

static int self_reduce(struct comm *c, void *values, size_t n, enum reduce_op op, struct err *e)
{
    return 0;
}

static int self_sum_small(struct comm *c, double *values, size_t n, struct err *e)
{
    return 0;
}

static int self_barrier(struct comm *c, struct err *e)
{
    return 0;
}

static int self_broadcast(struct comm *c, void *data, size_t nbytes, struct err *e)
{
    return 0;
}

static int self_gather(struct comm *c, const void *one, void *all, size_t nbytes, struct err *e)
{
    memcpy(all, one, nbytes);
    return 0;
}

static void self_abort(struct comm *c, const struct err *e)
{
}

static void self_close(struct comm *c)
{
    free(c);
}

static const struct comm_ops self_ops = {
    .name = "self",
    .reduce = self_reduce,
    .sum_small = self_sum_small,
    .broadcast = self_broadcast,
    .gather = self_gather,
    .barrier = self_barrier,
    .abort = self_abort,
    .close = self_close,
};

struct comm *comm_self_open(struct err *e)
{
    return comm_create(&self_ops, &(struct comm_config){.size = 1, .host = ""}, NULL, e);
}

struct comm_async {
    struct comm *c;
    comm_async_f sum;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slice *queue; /* slices [done, n) are still to be summed */
    struct comm_span *spans; /* of slices [0, done); as large as queue */
    size_t n, done, capacity;
    bool ending, failed;
    struct err error;
};

/* Sums the next slice. The caller holds the lock, which is released during the sum. */
static void sum_next(struct comm_async *a)
{
    struct slice s = a->queue[a->done];
    struct err e;

    pthread_mutex_unlock(&a->lock);
    double began = clock_now();
    int rc = a->sum(a->c, &s, &e);
    double ended = clock_now();
    pthread_mutex_lock(&a->lock);
    a->spans[a->done++] = (struct comm_span){began, ended};
    if (rc) {
        a->failed = true;
        a->error = e;
    }
    pthread_cond_broadcast(&a->changed);
}

static void *sum_slices(void *arg)
{
    struct comm_async *a = arg;

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

int comm_async_add(struct comm_async *a, struct slice s, struct err *e)
{
    pthread_mutex_lock(&a->lock);
    size_t room = a->capacity;
    int rc = mem_grow(&a->spans, a->n, &room, sizeof *a->spans, e) ||
                     mem_grow(&a->queue, a->n, &a->capacity, sizeof *a->queue, e)
                 ? -1 : 0;
    if (rc == 0) {
        a->queue[a->n++] = s;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return rc;
}

int comm_async_wait(struct comm_async *a, struct err *e)
{
    pthread_mutex_lock(&a->lock);
    while (a->done < a->n && !a->failed)
        pthread_cond_wait(&a->changed, &a->lock);
    int rc = a->failed ? -1 : 0;
    if (rc) {
        *e = a->error;
    } else {
        a->c->spans = a->spans;
        a->c->nspans = a->n;
        a->n = a->done = 0;
    }
    pthread_mutex_unlock(&a->lock);
    return rc;
}

static void destroy_async(struct comm_async *a)
{
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a->queue);
    free(a->spans);
    free(a);
}

void comm_async_close(struct comm_async *a, bool now)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->ending = true;
    if (now && a->done < a->n)
        a->c->leaving = SIGTERM;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    destroy_async(a);
}

struct comm_async *comm_async_open(struct comm *c, comm_async_f sum, struct err *e)
{
    struct comm_async *a = mem_zero(1, sizeof *a, e);

    if (!a)
        return NULL;
    a->c = c;
    a->sum = sum;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    int reason = pthread_create(&a->thread, NULL, sum_slices, a);
    if (reason == 0)
        return a;
    err_errno(e, ERR_INTERNAL, reason, "cannot start a thread for communication");
    destroy_async(a);
    return NULL;
}
