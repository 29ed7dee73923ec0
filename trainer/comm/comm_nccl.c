/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPU of a rank, and ranks with one GPU each. */
#include "src/base.h"
#include "trainer/comm/comm_internal.h"

#include <pthread.h>
#include <sched.h>

#include "src/clock.h"
#include "trainer/backends/backends.h"

#define ORDERS_FROM 22600        /* NCCL 2.26 */
#define DRIVER_ORDERS_FROM 12090 /* CUDA 12.9 */

static const char order[] = "NCCL_LAUNCH_ORDER_IMPLICIT", algorithm[] = "NCCL_ALGO",
                  registers[] = "NCCL_GRAPH_REGISTER";

bool device_comm_prepare(int version, int driver, bool deterministic)
{
    bool orders = version >= ORDERS_FROM && driver >= DRIVER_ORDERS_FROM;

    setenv(registers, "0", 0);
    if (orders)
        setenv(order, "1", 0);
    if (deterministic)
        setenv(algorithm, "Ring", 0);
    const char *chosen = getenv(order);
    return orders && chosen && strcmp(chosen, "1") == 0;
}

void device_comm_describe(char dst[DEVICE_COMM_SETTINGS])
{
    const char *const names[] = {order, algorithm, registers};
    size_t n = 0;

    *dst = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && n < DEVICE_COMM_SETTINGS)
            n += (size_t)snprintf(dst + n, DEVICE_COMM_SETTINGS - n, "%s%s=%s", n ? " " : "",
                                  names[i], value);
    }
}

int device_comm_open(struct device_comm *d, const struct device_comm_config *c, struct err *e)
{
    const struct backend *b = backend_find(c->backend);

    *d = (struct device_comm){.ops = b ? b->device : NULL};
    if (!d->ops)
        return err_set(e, ERR_CONFIG, "comm nccl connects GPUs, and there is no backend \"%s\" "
                       "with GPUs in this build", c->backend);
    d->nccl = nccl_library_open(e);
    if (!d->nccl)
        return -1;
    (void)d->nccl->get_version(&d->version); /* reads no environment */
    d->is_ordered = device_comm_prepare(d->version, c->driver, c->deterministic);
    d->device = d->ops->open(c->index, e);
    if (!d->device)
        return -1;
    snprintf(d->name, sizeof d->name, "GPU %016" PRIx64, d->ops->id(d->device));
    int rc = c->first ? d->nccl->get_id(&d->id) : NCCL_SUCCESS;
    if (rc != NCCL_SUCCESS)
        return err_set(e, ERR_CONFIG,
                       "NCCL cannot listen for the other ranks: %s; NCCL_SOCKET_IFNAME names "
                       "the network interface, NCCL_DEBUG=INFO shows details",
                       d->nccl->get_error_string(rc));
    return 0;
}

void device_comm_close(struct device_comm *d)
{
    if (d->ops)
        d->ops->close(d->device);
    *d = (struct device_comm){0};
}

/* Values in host memory are staged: copied to the GPU, reduced there by NCCL, and copied back.
 * Every wait except that of close polls and calls nccl_check. */

#define STAGE ((size_t)32 << 20) /* most bytes copied to the GPU at a time, except by a gather */
#define FINISH_S 10.0            /* how long close waits for the other ranks */
#define ABORT_S 3.0              /* how long abort waits for NCCL */

/* Work of one of NCCL's communicators waits for all its earlier work. Where a rank's NCCL does not
 * order the work of two, URGENT is not there, and FIRST does all. */
enum { FIRST, URGENT, LINKS };

/* The most blocks of threads of each, so that the work of both fits beside kernels: urgent sums are
 * of a few hundred numbers. */
static const int most_blocks[LINKS] = {16, 1};

/* An abort of one of NCCL's communicators, by a thread of its own. */
struct link_abort {
    int (*call)(void *link);
    void *link;
    atomic_bool ended;
};

struct nccl {
    const struct nccl_calls *calls;
    void *links[LINKS]; /* NCCL's communicators, or NULL after an abort */
    struct link_abort aborts[LINKS];
    bool is_ordered; /* device_comm.is_ordered */
    bool has_failed; /* a wait: only abort and close may follow */
    const struct device_ops *ops;
    struct device *device; /* its queue copies data of host memory */
    void *pinned, *local; /* staging buffers of nbytes each */
    size_t nbytes;
};

static struct nccl *nccl_of(struct comm *c)
{
    return c->priv;
}

static int fail_nccl(struct comm *c, int result, struct err *e)
{
    struct nccl *n = nccl_of(c);
    const char *detail = n->links[FIRST] ? n->calls->get_last_error(n->links[FIRST]) : NULL;

    if (!detail)
        detail = "";
    err_set(e, ERR_PEER, "rank %d of %d on %s: NCCL: %s (collective %lu) failed: %s%s%s; "
            "NCCL_DEBUG=INFO shows details, UNET_CAPTURE=off trains without CUDA graphs", c->rank,
            c->size, c->host, c->what, c->ncollectives, n->calls->get_error_string(result),
            *detail ? ": " : "", detail);
    n->has_failed = true;
    return -1;
}

/* Reports a failed NCCL call. NCCL notices that a rank has died; a moment later the lifeline knows
 * which one, so its error is preferred. */
static int report_loss(struct comm *c, int result, struct err *e)
{
    double began = clock_now();

    while (c->lifeline && clock_now() < began + 2) {
        if (comm_check_lifeline(c, e)) {
            nccl_of(c)->has_failed = true;
            return -1;
        }
        clock_sleep(0.002);
    }
    return fail_nccl(c, result, e);
}

static int nccl_check(struct comm *c, double waited_s, struct err *e)
{
    struct nccl *n = nccl_of(c);
    int result = NCCL_SUCCESS;

    if (n->has_failed)
        return err_set(e, ERR_PEER, "rank %d of %d on %s: its connection has failed before",
                       c->rank, c->size, c->host);
    n->has_failed = comm_check_wait(c, c->what, waited_s, e) != 0;
    for (int i = 0; !n->has_failed && i < LINKS && n->links[i]; i++)
        if (n->calls->get_async_error(n->links[i], &result) ||
            (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS))
            return report_loss(c, result, e);
    return n->has_failed ? -1 : 0;
}

static void pause_polling(double waited_s)
{
    if (waited_s < 0.0002)
        sched_yield();
    else
        clock_sleep(2e-5);
}

/* Waits until an asynchronous call of a link that returned result is complete. Until then no other
 * NCCL call may be made. */
static int finish_link(struct comm *c, int link, int result, struct err *e)
{
    struct nccl *n = nccl_of(c);
    double began = clock_now();

    while (result == NCCL_IN_PROGRESS) {
        double waited = clock_now() - began;
        if (nccl_check(c, waited, e))
            return -1;
        if (n->calls->get_async_error(n->links[link], &result) == NCCL_SUCCESS &&
            result == NCCL_IN_PROGRESS)
            pause_polling(waited);
    }
    return result == NCCL_SUCCESS ? 0 : report_loss(c, result, e);
}

static int finish_nccl(struct comm *c, int result, struct err *e)
{
    return finish_link(c, FIRST, result, e);
}

static int await_device(struct comm *c, struct err *e)
{
    struct nccl *n = nccl_of(c);
    double began = clock_now();

    for (;;) {
        bool idle;
        if (n->ops->idle(n->device, &idle, e))
            return -1;
        if (idle)
            return 0;
        double waited = clock_now() - began;
        if (nccl_check(c, waited, e))
            return -1;
        pause_polling(waited);
    }
}

static int enter_collective(struct comm *c, const char *what, struct err *e)
{
    comm_enter(c, what);
    return nccl_of(c)->has_failed ? nccl_check(c, 0, e) : 0;
}

/* Enlarges both staging buffers to at least nbytes. */
static int reserve_stage(struct comm *c, size_t nbytes, struct err *e)
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

/* Starts a sum or maximum of nbytes of n->local, by its reduce_op, or their broadcast. */
enum { BROADCAST = -1 };
static int start(struct nccl *n, size_t nbytes, int op)
{
    void *stream = n->ops->stream(n->device);

    if (op == BROADCAST)
        return n->calls->broadcast(n->local, n->local, nbytes, NCCL_BYTE, 0, n->links[FIRST],
                                   stream);
    return n->calls->all_reduce(n->local, n->local, nbytes / reduce_element((enum reduce_op)op),
                                kinds[op].type, kinds[op].op, n->links[FIRST], stream);
}

/* Copies data to the GPU, runs the collective there, and copies the result back. */
static int stage_part(struct comm *c, void *data, size_t nbytes, int op, struct err *e)
{
    struct nccl *n = nccl_of(c);

    if (reserve_stage(c, nbytes, e))
        return -1;
    memcpy(n->pinned, data, nbytes);
    if (n->ops->copy(n->device, n->local, n->pinned, nbytes, e) ||
        finish_nccl(c, start(n, nbytes, op), e) ||
        n->ops->copy(n->device, n->pinned, n->local, nbytes, e) || await_device(c, e))
        return -1;
    memcpy(data, n->pinned, nbytes);
    return 0;
}

static int stage_all(struct comm *c, const char *what, void *data, size_t nbytes, int op,
                     struct err *e)
{
    if (enter_collective(c, what, e))
        return -1;
    for (size_t at = 0; at < nbytes; at += STAGE)
        if (stage_part(c, (char *)data + at, nbytes - at < STAGE ? nbytes - at : STAGE, op, e))
            return -1;
    return 0;
}

static int nccl_reduce(struct comm *c, void *values, size_t n, enum reduce_op op, struct err *e)
{
    return stage_all(c, reduce_name(op), values, n * reduce_element(op), (int)op, e);
}

static int nccl_sum_small(struct comm *c, double *values, size_t n, struct err *e)
{
    return nccl_reduce(c, values, n, REDUCE_SUM_DOUBLE, e);
}

/* The sums of a step are in the devices' queues. */
static int nccl_wait(struct comm *c, struct err *e)
{
    if (c->lifeline)
        lifeline_count(c->lifeline);
    return 0;
}

static int nccl_queue_sum(struct comm *c, void *stream, bool urgent, void *values, size_t count,
                          enum reduce_op op, struct err *e)
{
    struct nccl *n = nccl_of(c);
    int link = urgent && n->links[URGENT] ? URGENT : FIRST;

    c->what = "a step";
    return (n->has_failed && nccl_check(c, 0, e)) ||
                   finish_link(c, link, n->calls->all_reduce(values, values, count, kinds[op].type,
                                                             kinds[op].op, n->links[link], stream),
                               e)
               ? -1
               : 0;
}

static int nccl_broadcast(struct comm *c, void *data, size_t nbytes, struct err *e)
{
    return stage_all(c, "a broadcast", data, nbytes, BROADCAST, e);
}

static int nccl_gather(struct comm *c, const void *one, void *all, size_t nbytes, struct err *e)
{
    struct nccl *n = nccl_of(c);
    size_t whole = (size_t)c->size * nbytes, own = (size_t)c->rank * nbytes;

    if (enter_collective(c, "a gather", e) || reserve_stage(c, whole, e))
        return -1;
    memcpy((char *)n->pinned + own, one, nbytes);
    if (n->ops->copy(n->device, (char *)n->local + own, (char *)n->pinned + own, nbytes, e) ||
        finish_nccl(c,
                    n->calls->all_gather((char *)n->local + own, n->local, nbytes, NCCL_BYTE,
                                         n->links[FIRST], n->ops->stream(n->device)),
                    e) ||
        n->ops->copy(n->device, n->pinned, n->local, whole, e) || await_device(c, e))
        return -1;
    memcpy(all, n->pinned, whole);
    return 0;
}

static int nccl_barrier(struct comm *c, struct err *e)
{
    int64_t one = 1;

    return stage_all(c, "a barrier", &one, sizeof one, REDUCE_SUM_INT64, e);
}

static int nccl_exchange(struct comm *c, int peer, char *data, size_t nbytes, struct err *e)
{
    struct nccl *n = nccl_of(c);

    c->what = "an exchange of two ranks";
    return (n->has_failed && nccl_check(c, 0, e)) ||
                   finish_nccl(c,
                               n->calls->exchange(data, data + nbytes, nbytes, peer,
                                                  n->links[FIRST], n->ops->stream(n->device)),
                               e)
               ? -1
               : await_device(c, e);
}

/* A function of a thread. */
static void *abort_link(void *arg)
{
    struct link_abort *a = arg;

    (void)a->call(a->link);
    a->ended = true;
    return NULL;
}

/* Returns whether NCCL's communicators are aborted. A call that has not returned still uses *n. */
static bool abort_links(struct nccl *n)
{
    double until = clock_now() + ABORT_S;
    bool ended = true;
    pthread_t thread;

    for (int i = 0; i < LINKS; i++) {
        struct link_abort *a = &n->aborts[i];
        if (!n->links[i])
            continue;
        *a = (struct link_abort){.call = n->calls->abort, .link = n->links[i]};
        n->links[i] = NULL;
        if (pthread_create(&thread, NULL, abort_link, a) == 0)
            pthread_detach(thread);
    }
    for (int i = 0; i < LINKS; i++) {
        while (n->aborts[i].link && !n->aborts[i].ended && clock_now() < until)
            clock_sleep(0.001);
        ended &= !n->aborts[i].link || n->aborts[i].ended;
    }
    return ended;
}

/* ncclCommAbort returns only when all graphs with sums of the communicator are destroyed, and have
 * ended if they were in flight, for which each of them may need the abort of the other. */
static void nccl_abort(struct comm *c, const struct err *e)
{
    nccl_of(c)->has_failed = true;
    (void)abort_links(nccl_of(c));
}

/* Closes one of NCCL's communicators. All ranks call it, unless one has failed: then the
 * communicator remains. */
static void close_link(struct nccl *n, int link)
{
    double began = clock_now();
    int result = n->calls->finalize(n->links[link]);

    while (result == NCCL_IN_PROGRESS && clock_now() < began + FINISH_S) {
        pause_polling(clock_now() - began);
        if (n->calls->get_async_error(n->links[link], &result))
            break;
    }
    if (result != NCCL_SUCCESS)
        return;
    (void)n->calls->destroy(n->links[link]);
    n->links[link] = NULL;
}

static void nccl_close(struct comm *c)
{
    struct nccl *n = nccl_of(c);
    struct err ignored;

    if (!n->has_failed) {
        (void)n->ops->drain(n->device, &ignored);
        for (int i = 0; i < LINKS; i++)
            if (n->links[i])
                close_link(n, i);
    }
    if (!abort_links(n))
        return; /* threads use *n, and the GPU its memory */
    (void)n->ops->drain(n->device, &ignored); /* copies may still be in flight */
    n->ops->free(n->device, DEVICE_HOST, n->pinned);
    n->ops->free(n->device, DEVICE_LOCAL, n->local);
    free(n);
    free(c);
}

static const struct comm_ops nccl_ops = {
    .name = "nccl",
    .reduce = nccl_reduce,
    .wait = nccl_wait,
    .sum_small = nccl_sum_small,
    .broadcast = nccl_broadcast,
    .gather = nccl_gather,
    .barrier = nccl_barrier,
    .exchange = nccl_exchange,
    .queue_sum = nccl_queue_sum,
    .check = nccl_check,
    .abort = nccl_abort,
    .close = nccl_close,
};

static int connect_link(struct comm *c, int link, const struct nccl_id *id, struct err *e)
{
    struct nccl *n = nccl_of(c);
    int result = n->calls->init(&n->links[link], c->size, id, c->rank, most_blocks[link]);

    if ((result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS) || !n->links[link])
        return fail_nccl(c, result, e);
    return finish_link(c, link, NCCL_IN_PROGRESS, e);
}

static int link_up(struct comm *c, struct nccl_id id, struct err *e)
{
    struct nccl *n = nccl_of(c);
    int version = 0, result;
    double lacks = !n->is_ordered;

    c->what = "connecting to the other ranks";
    if (connect_link(c, FIRST, &id, e) || nccl_reduce(c, &lacks, 1, REDUCE_MAX_DOUBLE, e))
        return -1;
    if (lacks == 0 && c->rank == 0 && (result = n->calls->get_id(&id)) != NCCL_SUCCESS)
        return fail_nccl(c, result, e);
    if (lacks == 0 &&
        (nccl_broadcast(c, &id, sizeof id, e) || connect_link(c, URGENT, &id, e)))
        return -1;
    if (c->rank == 0 && n->calls->get_version(&version) == 0)
        log_info("NCCL %d.%d.%d connects %d ranks%s", version / 10000, version % 10000 / 100,
                 version % 100, c->size,
                 lacks > 0 ? " by one communicator (NCCL 2.26 and a driver for CUDA 12.9 allow two)"
                           : "");
    return 0;
}

struct comm *comm_nccl_open(const struct comm_config *config, const struct device_comm *gpu,
                            struct err *e)
{
    struct nccl *n = mem_zero(1, sizeof *n, e);
    struct comm *c = n ? comm_create(&nccl_ops, config, n, e) : NULL;

    if (!c) {
        free(n);
        return NULL;
    }
    *n = (struct nccl){.calls = gpu->nccl, .ops = gpu->ops, .device = gpu->device,
                       .is_ordered = gpu->is_ordered};
    if (link_up(c, gpu->id, e)) {
        nccl_abort(c, e);
        nccl_close(c);
        return NULL;
    }
    return c;
}
