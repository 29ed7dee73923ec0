/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/comm_nccl.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/clock.h"
#include "src/log.h"
#include "trainer/comm/comm_thread.h"
#include "trainer/comm/rendezvous/lifeline.h"
#include "trainer/comm/slice.h"

/* What goes over the GPU at a time. */
#define STAGE ((size_t)32 << 20)
/* At the end of a run, for ranks that are a little late. */
#define FINISH_S 10.0

struct nccl {
    const struct nccl_calls *calls;
    void *link; /* NCCL's communicator; NULL: aborted */
    const struct device_ops *ops;
    struct device *device; /* by whose queue the host's data go */
    struct comm *thread;
    char host[256];
    void *pinned, *local; /* of nbytes each */
    size_t nbytes;
    void *place, *place_handle;
    struct slice_list pending; /* started and not waited for */
    const char *what; /* the last collective */
    unsigned long ncollectives;
};

static struct nccl *nccl_of(struct comm *c)
{
    return c->priv;
}

/* What runs on the GPU ends too. */
static void cut(struct nccl *n)
{
    if (n->link)
        (void)n->calls->abort(n->link);
    n->link = NULL;
}

static int fail(struct comm *c, int result, struct err *e)
{
    struct nccl *n = nccl_of(c);
    const char *more = n->link ? n->calls->get_last_error(n->link) : NULL;

    err_set(e, ERR_PEER, "rank %d of %d on %s: NCCL: %s (collective %lu) failed: %s%s%s; "
            "NCCL_DEBUG=INFO tells more", c->rank, c->size, n->host, n->what, n->ncollectives,
            n->calls->get_error_string(result), more && *more ? ": " : "", more ? more : "");
    cut(n);
    return -1;
}

/* Does a connection of the rendezvous say why the run can't go on? asks: lifeline_ask. */
static int hear(struct comm *c, bool asks, struct err *e)
{
    bool relayed = false;
    int rc = !c->lifeline ? 0
             : asks       ? lifeline_ask(c->lifeline, &relayed, e)
                          : lifeline_check(c->lifeline, &relayed, e);

    if (rc)
        c->relayed = relayed;
    return rc;
}

/* A rank that dies is noticed by NCCL on its peers and by the lifeline; who it was only the
 * lifeline knows, and it needs a moment. */
static int ask_who(struct comm *c, int result, struct err *e)
{
    double began = clock_now();

    while (c->lifeline && clock_now() < began + 2) {
        if (hear(c, false, e)) {
            cut(nccl_of(c));
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return fail(c, result, e);
}

static int nccl_check(struct comm *c, double waited_s, struct err *e)
{
    struct nccl *n = nccl_of(c);
    int result = NCCL_SUCCESS, rc = 0;

    if ((n->thread && (rc = comm_thread_check(n->thread, e)))) {
        c->relayed = (bool)n->thread->relayed;
    } else if ((rc = hear(c, false, e)) || (rc = comm_check_interrupt(c, e))) {
        ;
    } else if (!n->link) {
        rc = err_set(e, ERR_PEER, "rank %d of %d on %s: its connection was given up", c->rank,
                     c->size, n->host);
    } else if (n->calls->get_async_error(n->link, &result) ||
               (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS)) {
        return ask_who(c, result, e);
    } else if (waited_s > c->timeout_s) {
        rc = hear(c, true, e);
        if (rc == 0)
            rc = err_set(e, ERR_PEER, "rank %d of %d on %s: %s (NCCL, collective %lu) did not end "
                         "within %g s: another rank is gone or stuck; its output or the system's "
                         "log says why", c->rank, c->size, n->host, n->what, n->ncollectives,
                         c->timeout_s);
    }
    if (rc)
        cut(n);
    return rc ? -1 : 0;
}

static void relax(double waited_s)
{
    if (waited_s < 0.0002)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* A call that goes on by itself must have ended before the next one. */
static int settle(struct comm *c, int result, struct err *e)
{
    struct nccl *n = nccl_of(c);
    double began = clock_now();

    while (result == NCCL_IN_PROGRESS) {
        double waited = clock_now() - began;
        if (nccl_check(c, waited, e))
            return -1;
        if (n->calls->get_async_error(n->link, &result) == NCCL_SUCCESS &&
            result == NCCL_IN_PROGRESS)
            relax(waited);
    }
    return result == NCCL_SUCCESS ? 0 : ask_who(c, result, e);
}

static int await(struct comm *c, struct err *e)
{
    struct nccl *n = nccl_of(c);
    double began = clock_now();

    for (;;) {
        bool idle;
        if (n->ops->idle(n->device, &idle, e)) {
            cut(n);
            return -1;
        }
        if (idle)
            return 0;
        double waited = clock_now() - began;
        if (nccl_check(c, waited, e))
            return -1;
        relax(waited);
    }
}

static int enter(struct comm *c, const char *what, struct err *e)
{
    struct nccl *n = nccl_of(c);

    n->what = what;
    n->ncollectives++;
    if (c->lifeline)
        lifeline_count(c->lifeline);
    return n->link ? 0 : nccl_check(c, 0, e);
}

/* At least nbytes of both. */
static int reserve(struct comm *c, size_t nbytes, struct err *e)
{
    struct nccl *n = nccl_of(c);

    if (nbytes <= n->nbytes)
        return 0;
    n->ops->free(n->device, DEVICE_HOST, n->pinned);
    n->ops->free(n->device, DEVICE_LOCAL, n->local);
    n->nbytes = 0;
    n->pinned = n->ops->alloc(n->device, DEVICE_HOST, nbytes, e);
    n->local = n->pinned ? n->ops->alloc(n->device, DEVICE_LOCAL, nbytes, e) : NULL;
    if (!n->local)
        return -1;
    n->nbytes = nbytes;
    return 0;
}

static const struct { int type, op; } kinds[] = {
    [REDUCE_SUM_FLOAT] = {NCCL_FLOAT, NCCL_SUM}, [REDUCE_SUM_DOUBLE] = {NCCL_DOUBLE, NCCL_SUM},
    [REDUCE_SUM_INT64] = {NCCL_INT64, NCCL_SUM}, [REDUCE_MAX_DOUBLE] = {NCCL_DOUBLE, NCCL_MAX}};

static int reduce_part(struct comm *c, void *values, size_t count, enum reduce_op op,
                       struct err *e)
{
    struct nccl *n = nccl_of(c);
    size_t nbytes = count * reduce_element(op);

    if (reserve(c, nbytes, e))
        return -1;
    memcpy(n->pinned, values, nbytes);
    if (n->ops->copy(n->device, n->local, n->pinned, nbytes, e) ||
        settle(c, n->calls->all_reduce(n->local, n->local, count, kinds[op].type, kinds[op].op,
                                       n->link, n->ops->stream(n->device)), e) ||
        n->ops->copy(n->device, n->pinned, n->local, nbytes, e) || await(c, e))
        return -1;
    memcpy(values, n->pinned, nbytes);
    return 0;
}

static int reduce(struct comm *c, void *values, size_t count, enum reduce_op op, const char *what,
                  struct err *e)
{
    size_t size = reduce_element(op), most = STAGE / size;

    if (enter(c, what, e))
        return -1;
    for (size_t at = 0; at < count; at += most)
        if (reduce_part(c, (char *)values + at * size, count - at < most ? count - at : most, op,
                        e))
            return -1;
    return 0;
}

static int nccl_reduce(struct comm *c, void *values, size_t n, enum reduce_op op, struct err *e)
{
    return reduce(c, values, n, op, reduce_name(op), e);
}

static int nccl_sum_aside(struct comm *c, double *values, size_t n, struct err *e)
{
    return nccl_reduce(c, values, n, REDUCE_SUM_DOUBLE, e);
}

static int nccl_start_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    struct slice slice = {values, n, REDUCE_SUM_FLOAT};

    return slice_list_add(&nccl_of(c)->pending, slice, e);
}

static int nccl_wait(struct comm *c, struct err *e)
{
    struct slice_list *list = &nccl_of(c)->pending;
    size_t count = list->n;

    if (count == 0 && c->lifeline)
        lifeline_count(c->lifeline); /* a step whose sums are in the devices' queues */
    list->n = 0;
    for (size_t i = 0; i < count; i++)
        if (reduce(c, list->items[i].values, list->items[i].n, REDUCE_SUM_FLOAT,
                   "a sum of gradients", e))
            return -1;
    return 0;
}

static int nccl_queue_sum(struct comm *c, void *stream, void *values, size_t count,
                          enum reduce_op op, struct err *e)
{
    struct nccl *n = nccl_of(c);

    n->what = "a step";
    return (!n->link && nccl_check(c, 0, e)) ||
                   settle(c, n->calls->all_reduce(values, values, count, kinds[op].type,
                                                  kinds[op].op, n->link, stream), e)
               ? -1
               : 0;
}

static int broadcast_part(struct comm *c, char *data, size_t nbytes, int root, struct err *e)
{
    struct nccl *n = nccl_of(c);

    if (reserve(c, nbytes, e))
        return -1;
    memcpy(n->pinned, data, nbytes);
    if (n->ops->copy(n->device, n->local, n->pinned, nbytes, e) ||
        settle(c, n->calls->broadcast(n->local, n->local, nbytes, NCCL_BYTE, root, n->link,
                                      n->ops->stream(n->device)), e) ||
        n->ops->copy(n->device, n->pinned, n->local, nbytes, e) || await(c, e))
        return -1;
    memcpy(data, n->pinned, nbytes);
    return 0;
}

static int nccl_broadcast(struct comm *c, void *data, size_t nbytes, int root, struct err *e)
{
    if (root < 0 || root >= c->size)
        return err_set(e, ERR_INTERNAL, "broadcast from rank %d of %d", root, c->size);
    if (enter(c, "a broadcast", e))
        return -1;
    for (size_t at = 0; at < nbytes; at += STAGE)
        if (broadcast_part(c, (char *)data + at, nbytes - at < STAGE ? nbytes - at : STAGE, root,
                           e))
            return -1;
    return 0;
}

static int nccl_gather(struct comm *c, const void *one, void *all, size_t nbytes, struct err *e)
{
    struct nccl *n = nccl_of(c);
    size_t whole = (size_t)c->size * nbytes, own = (size_t)c->rank * nbytes;

    if (enter(c, "a gathering", e) || reserve(c, whole, e))
        return -1;
    memcpy((char *)n->pinned + own, one, nbytes);
    if (n->ops->copy(n->device, (char *)n->local + own, (char *)n->pinned + own, nbytes, e) ||
        settle(c, n->calls->all_gather((char *)n->local + own, n->local, nbytes, NCCL_BYTE, n->link,
                                       n->ops->stream(n->device)), e) ||
        n->ops->copy(n->device, n->pinned, n->local, whole, e) || await(c, e))
        return -1;
    memcpy(all, n->pinned, whole);
    return 0;
}

static int nccl_barrier(struct comm *c, struct err *e)
{
    int64_t one = 1;

    return reduce(c, &one, 1, REDUCE_SUM_INT64, "a barrier", e);
}

static void nccl_abort(struct comm *c, const struct err *e)
{
    struct nccl *n = nccl_of(c);

    if (n->thread)
        n->thread->ops->abort(n->thread, e);
    cut(n);
}

/* All ranks come here, or one has failed. */
static void finish(struct comm *c)
{
    struct nccl *n = nccl_of(c);
    double began = clock_now();
    int result = n->calls->finalize(n->link);

    while (result == NCCL_IN_PROGRESS && clock_now() < began + FINISH_S) {
        relax(clock_now() - began);
        if (n->calls->get_async_error(n->link, &result))
            break;
    }
    if (result == NCCL_SUCCESS)
        (void)n->calls->destroy(n->link);
    else
        cut(n);
    n->link = NULL;
}

static void nccl_close(struct comm *c)
{
    struct nccl *n = nccl_of(c);
    struct err ignored;

    (void)n->ops->drain(n->device, &ignored); /* what an abort has left copies from and to it */
    if (n->place_handle && n->link)
        (void)n->calls->dismiss(n->link, n->place_handle);
    if (n->link)
        finish(c);
    if (n->place)
        (void)n->calls->mem_free(n->place);
    n->ops->free(n->device, DEVICE_HOST, n->pinned);
    n->ops->free(n->device, DEVICE_LOCAL, n->local);
    free(n->pending.items);
    free(n);
    free(c);
}

/* Registration is a gain in speed only: without it sums are as right. */
static int nccl_queue_place(struct comm *c, size_t nbytes, void **p, struct err *e)
{
    struct nccl *n = nccl_of(c);

    (void)e;
    *p = NULL;
    if (!n->calls->mem_alloc || n->calls->mem_alloc(&n->place, nbytes) != NCCL_SUCCESS) {
        n->place = NULL;
        return 0;
    }
    if (n->calls->enroll(n->link, n->place, nbytes, &n->place_handle) != NCCL_SUCCESS)
        n->place_handle = NULL;
    *p = n->place;
    return 0;
}

static const struct comm_ops nccl_ops = {
    .name = "nccl",
    .place = comm_no_place,
    .reduce = nccl_reduce,
    .start_sum_float = nccl_start_sum_float,
    .wait = nccl_wait,
    .sum_aside = nccl_sum_aside,
    .broadcast = nccl_broadcast,
    .gather = nccl_gather,
    .barrier = nccl_barrier,
    .queue_sum = nccl_queue_sum,
    .queue_place = nccl_queue_place,
    .check = nccl_check,
    .abort = nccl_abort,
    .close = nccl_close,
};

static int link_up(struct comm *c, const struct nccl_id *id, struct err *e)
{
    struct nccl *n = nccl_of(c);
    int version = 0, result;

    n->what = "meeting the other ranks";
    result = n->calls->init(&n->link, c->size, id, c->rank);
    if ((result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS) || !n->link)
        return fail(c, result, e);
    if (settle(c, NCCL_IN_PROGRESS, e))
        return -1;
    if (c->rank == 0 && n->calls->get_version(&version) == 0)
        log_info("NCCL %d.%d.%d connects %d ranks", version / 10000, version % 10000 / 100,
                 version % 100, c->size);
    return 0;
}

struct comm *comm_nccl_open(const struct comm_nccl_config *config, struct err *e)
{
    struct comm *c = calloc(1, sizeof *c);
    struct nccl *n = calloc(1, sizeof *n);

    if (!c || !n) {
        free(c);
        free(n);
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    *n = (struct nccl){.calls = config->nccl, .ops = config->ops, .device = config->device,
                       .thread = config->thread};
    snprintf(n->host, sizeof n->host, "%s", config->host);
    *c = (struct comm){.ops = &nccl_ops, .rank = config->rank, .size = config->size,
                       .timeout_s = config->timeout_s, .interrupt = config->interrupt,
                       .lifeline = config->lifeline, .priv = n};
    if (link_up(c, config->id, e)) {
        nccl_close(c);
        return NULL;
    }
    return c;
}
