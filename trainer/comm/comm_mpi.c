/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives by MPI. The ranks of a host sum in shared memory if they can share it; all other
 * communication is by non-blocking MPI calls that are polled. comm_check_wait looks for lost ranks,
 * signals and the deadline, between two polls and while a rank waits for others of its host. */
#include "config.h"
#include "trainer/comm/comm_internal.h"

#ifdef HAVE_MPI

#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "src/log.h"
#include "src/mem.h"
#include "trainer/comm/mpi_ranks.h"

#define GRACE_S 60.0 /* a failed rank gives rank 0 at most so long to write the marker FAILED */
#define REPORT_S 1.0 /* for the lifeline to report a loss that MPI noticed first */
#define CHUNK ((size_t)1 << 30) /* elements or bytes of a call, at most; MPI's counts are int */

static const char gradient_sum[] = "a sum of gradients";

int mpi_fail(struct comm *c, int rc, const char *what, struct err *e)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    double deadline = clock_now() + REPORT_S;
    int length = 0;

    while (c->lifeline && clock_now() < deadline) {
        if (comm_check_lifeline(c, e))
            return -1;
        clock_sleep(0.001);
    }
    MPI_Error_string(rc, text, &length);
    for (char *line = text; (line = strchr(line, '\n'));)
        *line = ' ';
    return err_set(e, ERR_PEER, "rank %d of %d on %s: %s failed: %s", c->rank, c->size, c->host,
                   what, text);
}

/* Sleeps between two polls, but not during the first 0.5 ms if this thread has a core of its
 * own. */
static void pause_polling(bool spins, double waited_s)
{
    if (!spins || waited_s > 0.0005)
        clock_sleep(2e-5);
}

/* Returns whether no computing thread needs the core of this one. */
static bool is_alone(struct comm *c)
{
    return !mpi_of(c)->async && c->spins;
}

/* Waits until no sum is in flight in the background. */
static int settle(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);

    return m->async ? comm_async_wait(m->async, e) : 0;
}

/* Returns MPI's code. Each request is tested by itself, because MPI_Testall does not return the
 * error's code. */
static int test_requests(struct mpi *m, MPI_Request *requests, size_t n, int *done)
{
    int rc = MPI_SUCCESS;

    *done = 1;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; rc == MPI_SUCCESS && *done && i < n; i++)
        rc = MPI_Test(&requests[i], done, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&m->lock);
    return rc;
}

/* Polls requests until they are complete, or until check ends the wait. */
static int poll_requests(struct comm *c, MPI_Request *requests, size_t n, const char *what,
                         bool spins, barrier_check_f check, struct err *e)
{
    struct mpi *m = mpi_of(c);
    double began = clock_now(), waited = 0;
    int done = 0;

    for (;;) {
        int rc = test_requests(m, requests, n, &done);
        if (rc != MPI_SUCCESS)
            return mpi_fail(c, rc, what, e);
        if (done)
            return 0;
        waited = clock_now() - began;
        if (check(c, waited, e))
            return -1;
        pause_polling(spins, waited);
    }
}

static int finish_requests(struct comm *c, const char *what, struct err *e)
{
    struct mpi *m = mpi_of(c);

    if (poll_requests(c, m->requests, m->nrequests, what, is_alone(c), comm_check_main, e))
        return -1;
    m->nrequests = 0;
    return 0;
}

static MPI_Request *new_request(struct comm *c, const char *what, struct err *e)
{
    struct mpi *m = mpi_of(c);

    if (mem_grow(&m->requests, m->nrequests, &m->capacity, sizeof *m->requests, e))
        return NULL;
    c->what = what;
    m->requests[m->nrequests] = MPI_REQUEST_NULL;
    return &m->requests[m->nrequests++];
}

/* Waits for the request of a call that returned rc. */
static int finish_call(struct comm *c, int rc, MPI_Request *request, const char *what,
                       struct err *e)
{
    return rc == MPI_SUCCESS ? poll_requests(c, request, 1, what, is_alone(c), comm_check_main, e)
                             : mpi_fail(c, rc, what, e);
}

static int start_reduce(struct comm *c, const struct slice *s, const char *what,
                        struct err *e)
{
    static const struct { MPI_Datatype type; MPI_Op op; } kinds[] = {
        [REDUCE_SUM_FLOAT] = {MPI_FLOAT, MPI_SUM}, [REDUCE_SUM_DOUBLE] = {MPI_DOUBLE, MPI_SUM},
        [REDUCE_SUM_INT64] = {MPI_INT64_T, MPI_SUM}, [REDUCE_MAX_DOUBLE] = {MPI_DOUBLE, MPI_MAX}};
    size_t element = reduce_element(s->op);
    struct mpi *m = mpi_of(c);

    for (size_t at = 0; at < s->n; at += CHUNK) {
        size_t part = s->n - at < CHUNK ? s->n - at : CHUNK;
        MPI_Request *request = new_request(c, what, e);
        if (!request)
            return -1;
        pthread_mutex_lock(&m->lock);
        int rc = MPI_Iallreduce(MPI_IN_PLACE, (char *)s->values + at * element, (int)part,
                                kinds[s->op].type, kinds[s->op].op, m->across, request);
        pthread_mutex_unlock(&m->lock);
        if (rc != MPI_SUCCESS)
            return mpi_fail(c, rc, what, e);
    }
    return 0;
}

static int reduce_across(void *arg, const struct slice *slices, size_t nslices, struct err *e)
{
    struct comm *c = arg;
    const char *what = c->what;

    for (size_t i = 0; i < nslices; i++)
        if (start_reduce(c, &slices[i], what, e))
            return -1;
    return finish_requests(c, what, e);
}

/* Reduces over the ranks of each host in shared memory, and over hosts by MPI. */
static int reduce_slices(struct comm *c, const struct slice *slices, size_t nslices,
                         const char *what, struct err *e)
{
    struct mpi *m = mpi_of(c);

    comm_enter(c, what);
    if (!m->node)
        return reduce_across(c, slices, nslices, e);
    return node_reduce(m->node, is_alone(c), slices, nslices,
                       m->nacross > 1 ? reduce_across : NULL, c, e);
}

static int mpi_reduce(struct comm *c, void *values, size_t n, enum reduce_op op, struct err *e)
{
    return settle(c, e) ? -1
                        : reduce_slices(c, &(struct slice){values, n, op}, 1, reduce_name(op), e);
}

/* With nodes it is faster to sum all slices together in mpi_wait. */
static int mpi_start_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    struct slice slice = {values, n, REDUCE_SUM_FLOAT};
    struct mpi *m = mpi_of(c);

    if (m->async)
        return comm_async_add(m->async, slice, e);
    return m->node ? node_start(m->node, slice, e) : reduce_slices(c, &slice, 1, gradient_sum, e);
}

static int mpi_wait(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);

    if (m->async || !m->node)
        return settle(c, e);
    comm_enter(c, gradient_sum);
    return node_finish(m->node, is_alone(c), m->nacross > 1 ? reduce_across : NULL, c, e);
}

static int reduce_across_small(void *arg, const struct slice *slices, size_t nslices,
                               struct err *e)
{
    struct comm *c = arg;
    struct mpi *m = mpi_of(c);

    for (size_t i = 0; i < nslices; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        pthread_mutex_lock(&m->lock);
        int rc = MPI_Iallreduce(MPI_IN_PLACE, slices[i].values, (int)slices[i].n, MPI_DOUBLE,
                                MPI_SUM, m->across_small, &request);
        pthread_mutex_unlock(&m->lock);
        if (rc != MPI_SUCCESS)
            return mpi_fail(c, rc, comm_small_sum, e);
        if (poll_requests(c, &request, 1, comm_small_sum, c->spins, comm_check_small, e))
            return -1;
    }
    return 0;
}

/* Runs on the calling thread beside other sums, with a communicator and memory of its own. */
static int mpi_sum_small(struct comm *c, double *values, size_t n, struct err *e)
{
    struct slice slice = {values, n, REDUCE_SUM_DOUBLE};
    struct mpi *m = mpi_of(c);

    comm_count(c);
    if (!m->node)
        return reduce_across_small(c, &slice, 1, e);
    return node_reduce_small(m->node, c->spins, slice,
                             m->nacross > 1 ? reduce_across_small : NULL, c, e);
}

static int mpi_broadcast(struct comm *c, void *data, size_t nbytes, int root, struct err *e)
{
    const char *what = "a broadcast";
    MPI_Request request;

    if (settle(c, e))
        return -1;
    comm_enter(c, what);
    for (size_t at = 0; at < nbytes; at += CHUNK) {
        size_t part = nbytes - at < CHUNK ? nbytes - at : CHUNK;
        int rc = MPI_Ibcast((char *)data + at, (int)part, MPI_BYTE, root, MPI_COMM_WORLD,
                            &request);
        if (finish_call(c, rc, &request, what, e))
            return -1;
    }
    return 0;
}

static int mpi_gather(struct comm *c, const void *one, void *all, size_t nbytes, struct err *e)
{
    const char *what = "a gather";
    MPI_Request request;

    if (nbytes > CHUNK)
        return err_set(e, ERR_INTERNAL, "%s of %zu bytes by rank", what, nbytes);
    if (settle(c, e))
        return -1;
    comm_enter(c, what);
    int rc = MPI_Iallgather(one, (int)nbytes, MPI_BYTE, all, (int)nbytes, MPI_BYTE, MPI_COMM_WORLD,
                            &request);
    return finish_call(c, rc, &request, what, e);
}

static int mpi_barrier(struct comm *c, struct err *e)
{
    const char *what = "a barrier";
    MPI_Request request;

    if (settle(c, e))
        return -1;
    comm_enter(c, what);
    return finish_call(c, MPI_Ibarrier(MPI_COMM_WORLD, &request), &request, what, e);
}

static int mpi_exchange(struct comm *c, int peer, char *data, size_t nbytes, struct err *e)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int n = (int)nbytes, rc;

    if (settle(c, e))
        return -1;
    c->what = "an exchange of two ranks";
    if (nbytes > CHUNK)
        return err_set(e, ERR_INTERNAL, "%s, of %zu bytes", c->what, nbytes);
    pthread_mutex_lock(&mpi_of(c)->lock);
    rc = MPI_Irecv(data + n, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[0]);
    if (rc == MPI_SUCCESS)
        rc = MPI_Isend(data, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[1]);
    pthread_mutex_unlock(&mpi_of(c)->lock);
    return rc == MPI_SUCCESS
               ? poll_requests(c, requests, 2, c->what, is_alone(c), comm_check_main, e)
               : mpi_fail(c, rc, c->what, e);
}

/* Rank 0 has already written its marker and ends the run. The other ranks give it time to do so. */
static void mpi_abort(struct comm *c, const struct err *e)
{
    double grace = c->timeout_s < GRACE_S ? c->timeout_s : GRACE_S;
    bool relayed = c->relayed;

    comm_async_close(mpi_of(c)->async, true);
    c->relayed = relayed; /* not what the interrupted sum has set */
    if (!c->relayed)
        log_error("%s", e->text);
    if (!c->relayed && c->lifeline)
        lifeline_fail(c->lifeline, e);
    if (c->rank != 0)
        clock_sleep(grace);
    MPI_Abort(MPI_COMM_WORLD, e->code ? e->code : ERR_INTERNAL);
}

static int mpi_reduce_buffer(struct comm *c, size_t n, float **values, struct err *e)
{
    struct mpi *m = mpi_of(c);

    if (!m->node)
        return 0;
    if (settle(c, e))
        return -1;
    comm_enter(c, "memory for gradients");
    return node_share_buffer(m->node, is_alone(c), n, values, e);
}

const struct comm_ops mpi_ops = {
    .name = "mpi",
    .reduce_buffer = mpi_reduce_buffer,
    .reduce = mpi_reduce,
    .start_sum_float = mpi_start_sum_float,
    .wait = mpi_wait,
    .sum_small = mpi_sum_small,
    .broadcast = mpi_broadcast,
    .gather = mpi_gather,
    .barrier = mpi_barrier,
    .exchange = mpi_exchange,
    .abort = mpi_abort,
    .close = mpi_close,
};

static int sum_gradients(struct comm *c, const struct slice *s, struct err *e)
{
    return reduce_slices(c, s, 1, gradient_sum, e);
}

int comm_mpi_start_thread(struct comm *c, struct err *e)
{
    mpi_of(c)->async = comm_async_open(c, sum_gradients, e);
    return mpi_of(c)->async ? 0 : -1;
}

#endif
