/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a host sum in shared memory (node.h) if they can share it. All other communication
 * of collectives is by non-blocking MPI calls that are polled. check_waiting looks for errors,
 * signals, lost ranks and the deadline, between two polls and while a rank waits for others of its
 * host. Only opening, place and close also make MPI calls that block. Lost ranks are found by the
 * lifeline, TCP connections between the processes (rendezvous/lifeline.h), and among the ranks of
 * this host by their process ids. */
#include "config.h"
#include "trainer/comm/comm_mpi.h"

#ifndef HAVE_MPI

struct comm *comm_mpi_open(int expected_rank, int expected_size, double timeout_s,
                           const atomic_int *interrupt, struct err *e)
{
    (void)expected_rank, (void)expected_size, (void)timeout_s, (void)interrupt;
    err_set(e, ERR_CONFIG, "this unet-train was built without MPI, which runs of several tasks "
                           "need; install an MPI library with its compiler wrapper, run configure "
                           "--with-mpi=yes, and build again");
    return NULL;
}

const char *comm_mpi_version(void)
{
    return "";
}

#else

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "src/clock.h"
#include "src/log.h"
#include "src/mem.h"
#include "trainer/comm/bounded.h"
#include "trainer/comm/rendezvous/lifeline.h"
#include "trainer/comm/node.h"

#define GRACE_S 60.0 /* a failed rank gives rank 0 at most so long to write the marker FAILED */
#define REPORT_S 1.0 /* for the lifeline to report a loss that MPI noticed first */
#define ERROR_TAG 1
/* MPICH before 4.2 may never return from MPI_Finalize if UCX sends by TCP. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
#define MOST_FINALIZE_S 2.0
#else
#define MOST_FINALIZE_S HUGE_VAL
#endif
#define MOST_TURNS 10 /* rank r reports an absence min(r, MOST_TURNS) half seconds after rank 0 */
#define CHUNK ((size_t)1 << 30) /* elements or bytes of a call, at most; MPI's counts are int */

static const char gradient_sum[] = "a sum of gradients";
static const char small_sum[] = "a sum within a step";

struct mpi {
    char host[256];
    MPI_Comm errors; /* carries only the errors of failed ranks */
    MPI_Request *requests;
    size_t nrequests, capacity;
    atomic_ulong ncollectives;
    const char *what;      /* name of the last collective, for errors */
    struct node *node;     /* the ranks of this host; NULL if every host has one rank */
    MPI_Comm local;        /* communicator of the ranks of this host */
    MPI_Comm across;       /* the first ranks of the hosts; without nodes, all ranks */
    MPI_Comm across_small; /* a duplicate of across for sum_small */
    pthread_mutex_t lock;  /* held by the MPI calls of sums, as sum_small may run beside others */
    int *node_ranks;       /* world ranks of the ranks of this host */
    int nacross;
    struct reduce_list pending; /* slices started but not summed yet, with nodes */
};

static int provided_level;

static int call_init(void)
{
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided_level);
}

static int call_finalize(void)
{
    return MPI_Finalize();
}

static struct mpi *mpi_of(struct comm *c)
{
    return c->priv;
}

/* Fails with MPI's error rc, or with the lifeline's if it has one within REPORT_S: MPI may notice
 * the loss of a rank first, but only the lifeline knows which rank it is. */
static int fail_call(struct comm *c, int rc, const char *what, struct err *e)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    double deadline = clock_now() + REPORT_S;
    bool relayed = false;
    int length = 0;

    while (c->lifeline && clock_now() < deadline) {
        if (lifeline_check(c->lifeline, &relayed, e)) {
            c->relayed = relayed;
            return -1;
        }
        clock_sleep(0.001);
    }
    MPI_Error_string(rc, text, &length);
    for (char *line = text; (line = strchr(line, '\n'));)
        *line = ' ';
    return err_set(e, ERR_PEER, "rank %d of %d on %s: %s failed: %s", c->rank, c->size,
                   mpi_of(c)->host, what, text);
}

/* Fails if the lifeline reports an error, or if another rank has sent its own. */
static int check_errors(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    MPI_Status status;
    bool relayed = false;
    int found = 0, rc = 0;

    if (c->lifeline && lifeline_check(c->lifeline, &relayed, e)) {
        c->relayed = relayed;
        return -1;
    }
    pthread_mutex_lock(&m->lock);
    if (MPI_Iprobe(MPI_ANY_SOURCE, ERROR_TAG, m->errors, &found, &status) == MPI_SUCCESS && found &&
        MPI_Recv(e, (int)sizeof *e, MPI_BYTE, status.MPI_SOURCE, ERROR_TAG, m->errors,
                 MPI_STATUS_IGNORE) == MPI_SUCCESS)
        rc = -1;
    pthread_mutex_unlock(&m->lock);
    if (rc == 0)
        return 0;
    e->text[sizeof e->text - 1] = 0;
    c->relayed = true;
    return err_rank(e, status.MPI_SOURCE, NULL);
}

/* All ranks that wait for the same rank notice its absence now. The first of them reports it at
 * once, and the others find its error here. absent: that rank, or -1. */
static int await_turn(struct comm *c, int absent, struct err *e)
{
    int turn = c->rank - (absent >= 0 && absent < c->rank);
    double until = clock_now() + (turn < MOST_TURNS ? turn : MOST_TURNS) / 2.0;

    do {
        if (check_errors(c, e))
            return -1;
        clock_sleep(0.001); /* a single probe may miss a message */
    } while (clock_now() < until);
    return 0;
}

/* Sets the error of a collective that has not ended in time. absent: a rank that has not reached
 * it, or -1. */
static int diagnose_timeout(struct comm *c, const char *what, int absent, struct err *e)
{
    struct mpi *m = mpi_of(c);
    bool relayed = false;

    if (c->lifeline && lifeline_ask(c->lifeline, &relayed, e)) {
        c->relayed = relayed;
        return -1;
    }
    if (await_turn(c, absent, e))
        return -1;
    if (absent >= 0)
        return err_set(e, ERR_PEER, "rank %d on %s has not come to %s (collective %lu) within %g "
                       "s: it is stopped, slow or stuck", absent, m->host, what,
                       m->ncollectives, c->timeout_s);
    return err_set(e, ERR_PEER, "rank %d of %d on %s: %s (collective %lu) did not end within %g s: "
                   "another rank is gone or stuck; its output or the system's log says why",
                   c->rank, c->size, m->host, what, m->ncollectives, c->timeout_s);
}

/* Fails if the wait must end. find_absent finds a rank of the node that has not arrived. */
static int check_waiting(struct comm *c, const char *what, double waited_s,
                         int (*find_absent)(const struct node *g), struct err *e)
{
    struct mpi *m = mpi_of(c);
    int lost = -1;

    if (check_errors(c, e) || comm_check_interrupt(c, e))
        return -1;
    if (waited_s > 0.01 && m->node && (lost = node_find_lost(m->node)) >= 0) {
        lost = m->node_ranks[lost];
        return await_turn(c, lost, e) ? -1 :
            err_set(e, ERR_PEER, "rank %d on %s is gone: it was killed or has crashed; its "
                    "output or the system's log says why (out of memory?)", lost, m->host);
    }
    if (waited_s <= c->timeout_s)
        return 0;
    int absent = m->node ? find_absent(m->node) : -1;
    return diagnose_timeout(c, what, absent < 0 ? -1 : m->node_ranks[absent], e);
}

static int check_main_wait(void *arg, double waited_s, struct err *e)
{
    struct comm *c = arg;

    return check_waiting(c, mpi_of(c)->what, waited_s, node_find_absent, e);
}

static int check_small_wait(void *arg, double waited_s, struct err *e)
{
    return check_waiting(arg, small_sum, waited_s, node_find_absent_small, e);
}

/* Sleeps between two polls, but not during the first 0.5 ms if this thread has a core of its
 * own. */
static void pause_polling(bool spins, double waited_s)
{
    if (!spins || waited_s > 0.0005)
        clock_sleep(2e-5);
}

/* Whether no computing thread needs the core of this one. */
static bool is_alone(const struct comm *c)
{
    return !c->background && c->spins;
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
            return check_errors(c, e) ? -1 : fail_call(c, rc, what, e);
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

    if (poll_requests(c, m->requests, m->nrequests, what, is_alone(c), check_main_wait, e))
        return -1;
    m->nrequests = 0;
    return 0;
}

static void count_collective(struct comm *c)
{
    mpi_of(c)->ncollectives++;
    if (c->lifeline)
        lifeline_count(c->lifeline);
}

static void enter_collective(struct comm *c, const char *what)
{
    mpi_of(c)->what = what;
    count_collective(c);
}

static MPI_Request *new_request(struct comm *c, const char *what, struct err *e)
{
    struct mpi *m = mpi_of(c);

    if (mem_grow(&m->requests, m->nrequests, &m->capacity, sizeof *m->requests, e))
        return NULL;
    m->what = what;
    m->requests[m->nrequests] = MPI_REQUEST_NULL;
    return &m->requests[m->nrequests++];
}

/* Waits for the request of a call that returned rc. */
static int finish_call(struct comm *c, int rc, MPI_Request *request, const char *what,
                       struct err *e)
{
    return rc == MPI_SUCCESS ? poll_requests(c, request, 1, what, is_alone(c), check_main_wait, e)
                             : fail_call(c, rc, what, e);
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
            return fail_call(c, rc, what, e);
    }
    return 0;
}

static int reduce_across(void *arg, const struct slice *slices, size_t nslices, struct err *e)
{
    struct comm *c = arg;
    const char *what = mpi_of(c)->what;

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

    enter_collective(c, what);
    if (!m->node)
        return reduce_across(c, slices, nslices, e);
    return node_reduce(m->node, is_alone(c), slices, nslices,
                       m->nacross > 1 ? reduce_across : NULL, c, e);
}

static int mpi_reduce(struct comm *c, void *values, size_t n, enum reduce_op op, struct err *e)
{
    return reduce_slices(c, &(struct slice){values, n, op}, 1, reduce_name(op), e);
}

/* Testing the earlier requests lets MPI make progress, as it has no thread for that. With nodes it
 * is faster to sum all slices together in mpi_wait. */
static int mpi_start_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    struct slice slice = {values, n, REDUCE_SUM_FLOAT};
    struct mpi *m = mpi_of(c);
    int done;

    if (!m->node) {
        enter_collective(c, gradient_sum);
        if (start_reduce(c, &slice, gradient_sum, e))
            return -1;
        int rc = test_requests(m, m->requests, m->nrequests, &done);
        return rc == MPI_SUCCESS ? 0 : fail_call(c, rc, gradient_sum, e);
    }
    return reduce_list_add(&m->pending, slice, e);
}

static bool is_placed(const struct mpi *m, const struct slice *s)
{
    return m->node && node_has_place(m->node, s->values);
}

/* Sums consecutive slices that are in the node's memory together, and likewise consecutive
 * others. */
static int mpi_wait(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    const struct slice *slices = m->pending.items;
    size_t n = m->pending.n;
    int rc = 0;

    m->pending.n = 0;
    if (!m->node)
        return finish_requests(c, gradient_sum, e);
    for (size_t at = 0, end; rc == 0 && at < n; at = end) {
        bool placed = is_placed(m, &slices[at]);
        for (end = at + 1; end < n; end++)
            if (is_placed(m, &slices[end]) != placed)
                break;
        rc = reduce_slices(c, slices + at, end - at, gradient_sum, e);
    }
    return rc;
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
            return fail_call(c, rc, small_sum, e);
        if (poll_requests(c, &request, 1, small_sum, c->spins, check_small_wait, e))
            return -1;
    }
    return 0;
}

/* Runs on the calling thread beside other sums, with a communicator and memory of its own. */
static int mpi_sum_small(struct comm *c, double *values, size_t n, struct err *e)
{
    struct slice slice = {values, n, REDUCE_SUM_DOUBLE};
    struct mpi *m = mpi_of(c);

    count_collective(c);
    if (!m->node)
        return reduce_across_small(c, &slice, 1, e);
    return node_reduce_small(m->node, c->spins, slice,
                             m->nacross > 1 ? reduce_across_small : NULL, c, e);
}

static int mpi_broadcast(struct comm *c, void *data, size_t nbytes, int root, struct err *e)
{
    const char *what = "a broadcast";
    MPI_Request request;

    enter_collective(c, what);
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
    enter_collective(c, what);
    int rc = MPI_Iallgather(one, (int)nbytes, MPI_BYTE, all, (int)nbytes, MPI_BYTE, MPI_COMM_WORLD,
                            &request);
    return finish_call(c, rc, &request, what, e);
}

static int mpi_barrier(struct comm *c, struct err *e)
{
    const char *what = "a barrier";
    MPI_Request request;

    enter_collective(c, what);
    return finish_call(c, MPI_Ibarrier(MPI_COMM_WORLD, &request), &request, what, e);
}

/* MPI sends messages of this size at once. The requests are never completed, because the process
 * ends. */
static void send_error(struct comm *c, const struct err *e)
{
    static struct err notice;
    struct mpi *m = mpi_of(c);
    MPI_Request request;

    notice = *e;
    for (int r = 0; r < c->size; r++)
        if (r != c->rank)
            MPI_Isend(&notice, (int)sizeof notice, MPI_BYTE, r, ERROR_TAG, m->errors, &request);
}

/* Rank 0 has already written its marker and ends the run. The other ranks give it time to do so. */
static void mpi_abort(struct comm *c, const struct err *e)
{
    double grace = c->timeout_s < GRACE_S ? c->timeout_s : GRACE_S;
    double deadline = clock_now() + grace;
    struct err ignored;

    if (!c->relayed) {
        log_error("%s", e->text);
        send_error(c, e);
    }
    while (c->rank != 0 && clock_now() < deadline) {
        check_errors(c, &ignored);
        clock_sleep(0.001);
    }
    MPI_Abort(MPI_COMM_WORLD, e->code ? e->code : ERR_INTERNAL);
}

static void destroy_mpi(struct mpi *m)
{
    node_destroy(m->node);
    pthread_mutex_destroy(&m->lock);
    free(m->node_ranks);
    free(m->pending.items);
    free(m->requests);
    free(m);
}

/* After the barrier, a rank that ends without MPI_Finalize loses no data. */
static void mpi_close(struct comm *c)
{
    struct mpi *m = mpi_of(c);
    double limit = c->timeout_s < MOST_FINALIZE_S ? c->timeout_s : MOST_FINALIZE_S;
    struct err e;
    int rc;

    if (mpi_barrier(c, &e)) {
        log_warn("%s", e.text);
    } else {
        if (m->across_small != MPI_COMM_NULL)
            MPI_Comm_free(&m->across_small);
        if (m->node && m->across != MPI_COMM_NULL)
            MPI_Comm_free(&m->across);
        MPI_Comm_free(&m->local);
        MPI_Comm_free(&m->errors);
        if (bounded_call(call_finalize, limit, NULL, &rc) != 0)
            log_warn("rank %d of %d on %s: MPI_Finalize of %s did not return within %g s; the "
                     "results are complete", c->rank, c->size, m->host, comm_mpi_version(), limit);
    }
    destroy_mpi(m);
    free(c);
}

/* --- the ranks of a host --- */

/* Whether local_ok is true on all ranks of this host. */
static bool all_agree(struct mpi *m, bool local_ok)
{
    int all = local_ok;

    return MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, m->local) == MPI_SUCCESS && all;
}

static int mpi_place(struct comm *c, size_t n, float **values, struct err *e)
{
    struct mpi *m = mpi_of(c);
    struct node_offer offer = {0};
    struct err why = {0};
    int rank, rc = -1;

    *values = NULL;
    if (!m->node)
        return 0;
    MPI_Comm_rank(m->local, &rank);
    if (rank == 0)
        rc = node_offer_place(m->node, n, &offer, values, &why);
    MPI_Bcast(&offer, (int)sizeof offer, MPI_BYTE, 0, m->local);
    if (rank > 0)
        rc = node_join_place(m->node, n, &offer, values, &why);
    if (all_agree(m, rc == 0))
        return 0;
    return err_set(e, ERR_PEER, "rank %d of %d on %s: cannot share memory for the gradients: %s",
                   c->rank, c->size, m->host, why.code ? why.text : "another rank failed");
}

/* Makes a node of this rank alone: hosts without shared memory must follow the same steps as the
 * others. */
static int make_own_node(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    struct node_offer offer;
    int rc = MPI_Comm_dup(MPI_COMM_SELF, &m->local);

    m->node = rc == MPI_SUCCESS ? node_offer(1, &offer, e) : NULL;
    if (rc != MPI_SUCCESS)
        return fail_call(c, rc, "MPI_Comm_dup", e);
    return m->node ? 0 : -1;
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
                 "does all sums: %s", c->rank, c->size, m->host, why.text);
    MPI_Comm_free(&m->local);
    return make_own_node(c, e);
}

static int list_node(struct comm *c, int size, struct err *e)
{
    struct mpi *m = mpi_of(c);

    m->node_ranks = mem_zero((size_t)size, sizeof *m->node_ranks, e);
    if (!m->node_ranks)
        return -1;
    node_set_check(m->node, check_main_wait, check_small_wait, c);
    int rc = MPI_Allgather(&c->rank, 1, MPI_INT, m->node_ranks, 1, MPI_INT, m->local);
    return rc == MPI_SUCCESS ? 0 : fail_call(c, rc, "MPI_Allgather", e);
}

static int open_nodes(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    int rank, size, several;
    int rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL,
                                 &m->local);

    if (rc != MPI_SUCCESS)
        return fail_call(c, rc, "MPI_Comm_split_type", e);
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
    return rc == MPI_SUCCESS ? list_node(c, size, e) : fail_call(c, rc, "MPI_Comm_split", e);
}

static const struct comm_ops mpi_ops = {
    .name = "mpi",
    .place = mpi_place,
    .reduce = mpi_reduce,
    .start_sum_float = mpi_start_sum_float,
    .wait = mpi_wait,
    .sum_small = mpi_sum_small,
    .broadcast = mpi_broadcast,
    .gather = mpi_gather,
    .barrier = mpi_barrier,
    .abort = mpi_abort,
    .close = mpi_close,
};

static int init_mpi(int rank, int size, const char *host, double timeout_s,
                    const atomic_int *interrupt, struct err *e)
{
    char who[300];
    int rc = 0, verdict = bounded_call(call_init, timeout_s, interrupt, &rc);

    if (rank >= 0 && size > 0)
        snprintf(who, sizeof who, "rank %d of %d on %s", rank, size, host);
    else
        snprintf(who, sizeof who, "a rank on %s", host);
    if (verdict < 0)
        return err_set(e, ERR_INTERNAL, "%s: cannot start a thread for MPI", who);
    if (verdict > 128)
        return err_signal(e, verdict - 128);
    if (verdict)
        return err_set(e, ERR_PEER, "%s: MPI did not come up within %g s: not all ranks started, "
                       "or they cannot reach each other", who, timeout_s);
    if (rc != MPI_SUCCESS || provided_level < MPI_THREAD_SERIALIZED)
        return err_set(e, ERR_PEER, "%s: MPI_Init_thread failed (code %d, thread level %d)", who,
                       rc, provided_level);
    return 0;
}

struct comm *comm_mpi_open(int expected_rank, int expected_size, double timeout_s,
                           const atomic_int *interrupt, struct err *e)
{
    struct comm *c = mem_zero(1, sizeof *c, e);
    struct mpi *m = c ? mem_zero(1, sizeof *m, e) : NULL;

    if (!m) {
        free(c);
        return NULL;
    }
    pthread_mutex_init(&m->lock, NULL);
    m->across_small = MPI_COMM_NULL;
    if (gethostname(m->host, sizeof m->host - 1))
        strcpy(m->host, "unknown host");
    if (init_mpi(expected_rank, expected_size, m->host, timeout_s, interrupt, e))
        goto fail;
    *c = (struct comm){.ops = &mpi_ops, .timeout_s = timeout_s, .interrupt = interrupt, .priv = m};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c->size);
    m->across = MPI_COMM_WORLD;
    int rc = MPI_Comm_dup(MPI_COMM_WORLD, &m->errors);
    if (rc == MPI_SUCCESS && open_nodes(c, e))
        goto fail;
    if (rc == MPI_SUCCESS && m->across != MPI_COMM_NULL)
        rc = MPI_Comm_dup(m->across, &m->across_small);
    if (rc == MPI_SUCCESS)
        return c;
    fail_call(c, rc, "MPI_Comm_dup", e);
fail:
    destroy_mpi(m);
    free(c);
    return NULL;
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

#endif
