/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives by MPI. The ranks of a host sum in shared memory if they can share it; all other
 * communication is by non-blocking MPI calls that are polled. comm_check_wait looks for lost ranks,
 * signals and the deadline, between two polls and while a rank waits for others of its host. Behind
 * them the start and the end of MPI, the only functions that make MPI calls that block. */
#include "src/base.h"
#include "trainer/comm/comm_internal.h"

#ifndef HAVE_MPI

struct comm *comm_mpi_open(const struct comm_config *config, lifeline_lost_f lost, void *arg,
                           struct err *e)
{
    err_set(e, ERR_CONFIG, "this unet-train was built without MPI, which runs of several tasks "
                           "need; install an MPI library with its compiler wrapper, run configure "
                           "--with-mpi=yes, and build again");
    return NULL;
}

int comm_mpi_start_thread(struct comm *c, struct err *e)
{
    return 0;
}

const char *comm_mpi_version(void)
{
    return "";
}

#else

#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "src/cluster/connection.h"
#include "src/log.h"
#include "src/mem.h"

struct mpi {
    struct lifeline *lifeline; /* opened here; or NULL */
    char **hosts;              /* of all ranks, for this lifeline */
    struct comm_async *async; /* sums gradients in the background; or NULL */
    struct node *node;     /* the ranks of this host; NULL if every host has one rank */
    MPI_Comm local;        /* communicator of the ranks of this host */
    MPI_Comm across;       /* the first ranks of the hosts; without nodes, all ranks */
    MPI_Comm across_small; /* a duplicate of across for sum_small */
    pthread_mutex_t lock;  /* held by the MPI calls of sums, as sum_small may run beside others */
    int nacross;
};

static struct mpi *mpi_of(struct comm *c)
{
    return c->priv;
}

#define GRACE_S 60.0 /* a failed rank gives rank 0 at most so long to write the marker FAILED */
#define REPORT_S 1.0 /* for the lifeline to report a loss that MPI noticed first */
#define CHUNK ((size_t)1 << 30) /* elements or bytes of a call, at most; MPI's counts are int */

static const char gradient_sum[] = "a sum of gradients";

/* Fails with MPI's error rc, or with the lifeline's if it has one within REPORT_S: MPI may notice
 * the loss of a rank first, but only the lifeline knows which rank it is. */
static int mpi_fail(struct comm *c, int rc, const char *what, struct err *e)
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

/* Waits for the request of a call that returned rc. */
static int finish_call(struct comm *c, int rc, MPI_Request *request, const char *what,
                       struct err *e)
{
    return rc == MPI_SUCCESS ? poll_requests(c, request, 1, what, is_alone(c), comm_check_main, e)
                             : mpi_fail(c, rc, what, e);
}

/* Reduces slices over the ranks of a communicator, one after the other. */
static int reduce_by_mpi(struct comm *c, MPI_Comm across, const struct slice *slices, size_t n,
                         const char *what, bool spins, barrier_check_f check, struct err *e)
{
    static const struct { MPI_Datatype type; MPI_Op op; } kinds[] = {
        [REDUCE_SUM_FLOAT] = {MPI_FLOAT, MPI_SUM}, [REDUCE_SUM_DOUBLE] = {MPI_DOUBLE, MPI_SUM},
        [REDUCE_SUM_INT64] = {MPI_INT64_T, MPI_SUM}, [REDUCE_MAX_DOUBLE] = {MPI_DOUBLE, MPI_MAX}};
    struct mpi *m = mpi_of(c);

    for (const struct slice *s = slices; s < slices + n; s++)
        for (size_t at = 0; at < s->n; at += CHUNK) {
            size_t part = s->n - at < CHUNK ? s->n - at : CHUNK;
            MPI_Request request = MPI_REQUEST_NULL;
            pthread_mutex_lock(&m->lock);
            int rc = MPI_Iallreduce(MPI_IN_PLACE, (char *)s->values + at * reduce_element(s->op),
                                    (int)part, kinds[s->op].type, kinds[s->op].op, across,
                                    &request);
            pthread_mutex_unlock(&m->lock);
            if (rc != MPI_SUCCESS)
                return mpi_fail(c, rc, what, e);
            if (poll_requests(c, &request, 1, what, spins, check, e))
                return -1;
        }
    return 0;
}

static int reduce_across(void *arg, const struct slice *slices, size_t nslices, struct err *e)
{
    struct comm *c = arg;

    return reduce_by_mpi(c, mpi_of(c)->across, slices, nslices, c->what, is_alone(c),
                         comm_check_main, e);
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

    return reduce_by_mpi(c, mpi_of(c)->across_small, slices, nslices, comm_small_sum, c->spins,
                         comm_check_small, e);
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

static int mpi_broadcast(struct comm *c, void *data, size_t nbytes, struct err *e)
{
    const char *what = "a broadcast";
    MPI_Request request;

    if (settle(c, e))
        return -1;
    comm_enter(c, what);
    for (size_t at = 0; at < nbytes; at += CHUNK) {
        size_t part = nbytes - at < CHUNK ? nbytes - at : CHUNK;
        int rc = MPI_Ibcast((char *)data + at, (int)part, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
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

static int sum_gradients(struct comm *c, const struct slice *s, struct err *e)
{
    return reduce_slices(c, s, 1, gradient_sum, e);
}

int comm_mpi_start_thread(struct comm *c, struct err *e)
{
    mpi_of(c)->async = comm_async_open(c, sum_gradients, e);
    return mpi_of(c)->async ? 0 : -1;
}

/* --- starting and ending MPI, and the ranks of a host, who share memory --- */

/* MPICH before 4.2 may never return from MPI_Finalize if UCX sends by TCP. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
#define MOST_FINALIZE_S 2.0
#else
#define MOST_FINALIZE_S HUGE_VAL
#endif
#define NAP_S 0.02 /* between two looks at the thread and the interrupt flag */

/* --- the calls of MPI that have no deadline --- */

static int (*called)(void);

static void *run_body(void *arg)
{
    return (void *)(intptr_t)called();
}

/* Runs body, which has no deadline of its own, in a thread. Returns 0 with the result of body in
 * *rc, 1 if body has not returned within timeout_s, 128 + n if *interrupt became n, the number of a
 * signal, or -1 if no thread could be started. After 1 and 128 + n the thread keeps running.
 * interrupt may be NULL. Only one call at a time, and none while such a thread runs. */
static int bounded_call(int (*body)(void), double timeout_s, const atomic_int *interrupt, int *rc)
{
    double deadline = clock_now() + timeout_s;
    pthread_t thread;
    void *result;
    int verdict = 0;

    called = body;
    if (pthread_create(&thread, NULL, run_body, NULL))
        return -1;
    while (verdict == 0) {
        if (pthread_tryjoin_np(thread, &result) == 0) {
            *rc = (int)(intptr_t)result;
            return 0;
        }
        clock_sleep(NAP_S);
        verdict = interrupt && *interrupt ? 128 + *interrupt : clock_now() >= deadline;
    }
    pthread_detach(thread);
    return verdict;
}

static int provided_level;

static int call_init(void)
{
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided_level);
}

static int call_finalize(void)
{
    return MPI_Finalize();
}

/* Shortens the library's description to its first line up to a comma, without the word "Version:":
 * "Open MPI v4.1.4", "MPICH 4.0.2". */
const char *comm_mpi_version(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    static const char label[] = "Version:";
    int length = 0;

    if (text[0] || MPI_Get_library_version(text, &length) != MPI_SUCCESS)
        return text;
    text[strcspn(text, ",\n")] = 0;
    char *at = strstr(text, label);
    if (at) {
        const char *number = at + strlen(label);
        number += strspn(number, " \t");
        memmove(at, number, strlen(number) + 1);
    }
    return text;
}

static int init_mpi(const struct comm_config *config, struct err *e)
{
    char who[300];
    int rc = 0, verdict = bounded_call(call_init, config->timeout_s, config->interrupt, &rc);

    if (config->rank >= 0 && config->size > 0)
        snprintf(who, sizeof who, "rank %d of %d on %s", config->rank, config->size, config->host);
    else
        snprintf(who, sizeof who, "a rank on %s", config->host);
    if (verdict < 0)
        return err_set(e, ERR_INTERNAL, "%s: cannot start a thread for MPI", who);
    if (verdict > 128)
        return err_signal(e, verdict - 128);
    if (verdict)
        return err_set(e, ERR_PEER, "%s: MPI did not come up within %g s: not all ranks started, "
                       "or they cannot reach each other", who, config->timeout_s);
    if (rc != MPI_SUCCESS || provided_level < MPI_THREAD_SERIALIZED)
        return err_set(e, ERR_PEER, "%s: MPI_Init_thread failed (code %d, thread level %d)", who,
                       rc, provided_level);
    return 0;
}

static void destroy_mpi(struct mpi *m)
{
    node_destroy(m->node);
    pthread_mutex_destroy(&m->lock);
    free(m->hosts);
    free(m);
}

/* After its barrier, a rank that ends without MPI_Finalize loses no data. */
static void mpi_close(struct comm *c)
{
    struct mpi *m = mpi_of(c);
    double limit = c->timeout_s < MOST_FINALIZE_S ? c->timeout_s : MOST_FINALIZE_S;
    struct err e;
    int rc;

    comm_async_close(m->async, false);
    m->async = NULL;
    if (c->ops->barrier(c, &e)) {
        log_warn("%s", e.text);
    } else {
        if (m->across_small != MPI_COMM_NULL)
            MPI_Comm_free(&m->across_small);
        if (m->node && m->across != MPI_COMM_NULL)
            MPI_Comm_free(&m->across);
        MPI_Comm_free(&m->local);
        if (bounded_call(call_finalize, limit, NULL, &rc) != 0)
            log_warn("rank %d of %d on %s: MPI_Finalize of %s did not return within %g s; the "
                     "results are complete", c->rank, c->size, c->host, comm_mpi_version(), limit);
    }
    lifeline_close(m->lifeline);
    destroy_mpi(m);
    free(c);
}

/* --- the ranks of a host --- */

/* Makes a node of this rank alone: hosts without shared memory must follow the same steps as the
 * others. */
static int make_own_node(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    struct node_offer offer;
    int rc = MPI_Comm_dup(MPI_COMM_SELF, &m->local);

    m->node = rc == MPI_SUCCESS ? node_offer(1, &offer, e) : NULL;
    if (rc != MPI_SUCCESS)
        return mpi_fail(c, rc, "MPI_Comm_dup", e);
    return m->node ? 0 : -1;
}

static bool all_agree(struct mpi *m, bool local_ok)
{
    int all = local_ok;

    return MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, m->local) == MPI_SUCCESS && all;
}

/* Shares memory with the ranks of this host. If that is impossible, as between containers, each
 * rank becomes a node of its own and MPI does all sums. */
static int join_node(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    struct node_offer offer = {0};
    struct err why = {0};
    int rank, size;

    MPI_Comm_rank(m->local, &rank);
    MPI_Comm_size(m->local, &size);
    if (rank == 0)
        m->node = node_offer(size, &offer, &why);
    MPI_Bcast(&offer, (int)sizeof offer, MPI_BYTE, 0, m->local);
    if (rank > 0)
        m->node = node_join(rank, size, &offer, &why);
    if (all_agree(m, m->node != NULL))
        return 0;
    node_destroy(m->node);
    m->node = NULL;
    if (why.code)
        log_warn("rank %d of %d on %s: cannot share memory with the ranks of this host, so MPI "
                 "does all sums: %s", c->rank, c->size, c->host, why.text);
    MPI_Comm_free(&m->local);
    return make_own_node(c, e);
}

static int open_nodes(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    int rank, size, several;
    int rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL,
                                 &m->local);

    if (rc != MPI_SUCCESS)
        return mpi_fail(c, rc, "MPI_Comm_split_type", e);
    const char *shared = getenv("UNET_SHARED_MEMORY");
    bool alone = shared && strcmp(shared, "off") == 0;
    if (alone)
        MPI_Comm_free(&m->local);
    if (alone ? make_own_node(c, e) : join_node(c, e))
        return -1;
    MPI_Comm_rank(m->local, &rank);
    MPI_Comm_size(m->local, &size);
    several = size > 1;
    rc = MPI_Allreduce(MPI_IN_PLACE, &several, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rc == MPI_SUCCESS && !several) {
        node_destroy(m->node);
        m->node = NULL;
        return 0;
    }
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, c->rank, &m->across);
    if (rc == MPI_SUCCESS && m->across != MPI_COMM_NULL)
        MPI_Comm_size(m->across, &m->nacross);
    if (rc == MPI_SUCCESS)
        rc = MPI_Bcast(&m->nacross, 1, MPI_INT, 0, m->local);
    if (rc != MPI_SUCCESS)
        return mpi_fail(c, rc, "MPI_Comm_split", e);
    node_set_check(m->node, comm_check_main, comm_check_small, c);
    return 0;
}

/* --- the lifeline, and opening --- */

static int gather_hosts(struct comm *c, struct err *e)
{
    size_t n = (size_t)c->size;
    char **hosts = mem_zero(n, sizeof *hosts + sizeof c->host, e);
    char *names = (char *)(hosts + n);

    mpi_of(c)->hosts = hosts;
    for (size_t r = 0; hosts && r < n; r++)
        hosts[r] = names + r * sizeof c->host;
    return hosts ? c->ops->gather(c, c->host, names, sizeof c->host, e) : -1;
}

static bool is_one_host(const struct comm *c)
{
    char *const *hosts = mpi_of((struct comm *)(uintptr_t)c)->hosts;
    bool one = true;

    for (int r = 1; r < c->size; r++)
        one &= strcmp(hosts[r], hosts[0]) == 0;
    return one;
}

/* Opens the lifeline of ranks that have no cluster spec: rank 0 listens at any port. */
static int open_lifeline(struct comm *c, lifeline_lost_f lost, void *arg, struct err *e)
{
    struct mpi *m = mpi_of(c);
    struct { unsigned char token[TOKEN_SIZE]; int port; } mine = {.port = 0};
    int listener = c->rank == 0 ? listener_open(NULL, 0) : 0;
    bool relayed;

    if (listener < 0 || (listener > 0 && token_draw(mine.token, sizeof mine.token, e)))
        mine.port = 0;
    else if (listener > 0)
        mine.port = listener_port(listener);
    int *ports = mem_zero((size_t)c->size, sizeof *ports, e);
    if (!ports || gather_hosts(c, e) || c->ops->broadcast(c, &mine, sizeof mine, e)) {
        free(ports);
        return -1;
    }
    ports[0] = mine.port;
    struct rendezvous_config r = {
        .rank = c->rank, .size = c->size, .hosts = (const char *const *)m->hosts, .ports = ports,
        .address = is_one_host(c) ? "127.0.0.1" : NULL, .listener = listener, .host = c->host,
        .device = "", .program = "unet-train " PACKAGE_VERSION, .timeout_s = c->timeout_s,
        .interrupt = c->interrupt};
    memcpy(r.token, mine.token, sizeof r.token);
    struct rendezvous *met = rendezvous_open(&r, NULL, 0, &relayed, e);
    free(ports);
    if (met)
        c->lifeline = m->lifeline = lifeline_open(met, r.hosts, lost, arg, e);
    return c->lifeline ? 0 : -1;
}

static const struct comm_ops mpi_ops = {
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

struct comm *comm_mpi_open(const struct comm_config *config, lifeline_lost_f lost, void *arg,
                           struct err *e)
{
    struct mpi *m = mem_zero(1, sizeof *m, e);
    struct comm *c = m ? comm_create(&mpi_ops, config, m, e) : NULL;

    if (!c) {
        free(m);
        return NULL;
    }
    pthread_mutex_init(&m->lock, NULL);
    m->across_small = MPI_COMM_NULL;
    if (init_mpi(config, e))
        goto fail;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c->size);
    m->across = MPI_COMM_WORLD;
    if ((c->size > 1 && !c->lifeline && open_lifeline(c, lost, arg, e)) || open_nodes(c, e))
        goto fail;
    int rc = MPI_SUCCESS;
    if (m->across != MPI_COMM_NULL)
        rc = MPI_Comm_dup(m->across, &m->across_small);
    if (rc == MPI_SUCCESS)
        return c;
    mpi_fail(c, rc, "MPI_Comm_dup", e);
fail:
    lifeline_close(m->lifeline);
    destroy_mpi(m);
    free(c);
    return NULL;
}

#endif
