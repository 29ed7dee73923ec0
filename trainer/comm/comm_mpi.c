/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/comm_mpi.h"

#ifndef HAVE_MPI

struct comm *comm_mpi_open(int expected_rank, int expected_size, double timeout_s,
                           const volatile sig_atomic_t *interrupt, struct err *e)
{
    (void)expected_rank, (void)expected_size, (void)timeout_s, (void)interrupt;
    err_set(e, ERR_CONFIG, "this unet-train was built without MPI, which several tasks need; "
                           "install an MPI with its compiler wrapper and configure "
                           "--with-mpi=yes");
    return NULL;
}

const char *comm_mpi_version(void)
{
    return "";
}

#else

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "src/log.h"
#include "trainer/comm/lifeline.h"

/* How long a failed rank waits for rank 0 to take notice and write the marker. */
#define GRACE_S 60.0
#define ALARM_TAG 1
/* MPI counts are int. */
#define CHUNK ((size_t)1 << 30)

struct mpi {
    char host[256];
    MPI_Comm alarm; /* carries nothing but the error of a rank that failed */
    MPI_Request *requests;
    int nrequests, capacity;
    unsigned long ncollectives;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* MPI_Init and MPI_Finalize know no deadline, so they run in a thread of their own. The state is
 * static: a thread that never returns may still write to it when everybody else has left. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t done_changed;
    bool done;
    int rc, provided;
} call = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void end_call(int rc)
{
    pthread_mutex_lock(&call.lock);
    call.rc = rc;
    call.done = true;
    pthread_cond_signal(&call.done_changed);
    pthread_mutex_unlock(&call.lock);
}

static void *init_thread(void *arg)
{
    (void)arg;
    end_call(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &call.provided));
    return NULL;
}

static void *finalize_thread(void *arg)
{
    (void)arg;
    end_call(MPI_Finalize());
    return NULL;
}

/* 0 when body has returned in time (its result is in call.rc), 1 when it has not, 128 + n when
 * signal n asked to end, -1 when no thread could be started. */
static int call_bounded(void *(*body)(void *), double timeout_s,
                        const volatile sig_atomic_t *interrupt)
{
    double deadline = now_s() + timeout_s;
    pthread_condattr_t attr;
    pthread_t thread;
    int verdict = 0;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&call.done_changed, &attr);
    pthread_condattr_destroy(&attr);
    call.done = false;
    if (pthread_create(&thread, NULL, body, NULL))
        return -1;
    pthread_mutex_lock(&call.lock);
    while (!call.done && verdict == 0) {
        double nap = now_s() + 0.1;
        struct timespec until = {.tv_sec = (time_t)nap,
                                 .tv_nsec = (long)((nap - (double)(time_t)nap) * 1e9)};
        pthread_cond_timedwait(&call.done_changed, &call.lock, &until);
        if (!call.done && interrupt && *interrupt)
            verdict = 128 + *interrupt;
        else if (!call.done && now_s() >= deadline)
            verdict = 1;
    }
    pthread_mutex_unlock(&call.lock);
    if (verdict == 0)
        pthread_join(thread, NULL);
    else
        pthread_detach(thread);
    return verdict;
}

static struct mpi *mpi_of(struct comm *c)
{
    return c->priv;
}

static int fail(struct comm *c, int rc, const char *what, struct err *e)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;

    MPI_Error_string(rc, text, &length);
    return err_set(e, ERR_PEER, "rank %d of %d on %s: %s failed: %s", c->rank, c->size,
                   mpi_of(c)->host, what, text);
}

/* Has another rank failed? Then its error becomes ours. */
static int check_alarm(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    MPI_Status status;
    int found = 0;

    if (c->lifeline && lifeline_check(c->lifeline, &c->relayed, e))
        return -1;
    if (MPI_Iprobe(MPI_ANY_SOURCE, ALARM_TAG, m->alarm, &found, &status) != MPI_SUCCESS || !found)
        return 0;
    if (MPI_Recv(e, (int)sizeof *e, MPI_BYTE, status.MPI_SOURCE, ALARM_TAG, m->alarm,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return 0;
    e->text[sizeof e->text - 1] = 0;
    c->relayed = true;
    return comm_set_relayed(e, status.MPI_SOURCE);
}

/* Ranks may outnumber cores: give the core away at once, sleep when it takes longer. */
static void relax(double waited_s)
{
    if (waited_s < 0.002)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* Poll all requests to their end. */
static int finish(struct comm *c, const char *what, struct err *e)
{
    struct mpi *m = mpi_of(c);
    double began = now_s(), waited = 0;
    int done = 0;

    for (;;) {
        int rc = MPI_Testall(m->nrequests, m->requests, &done, MPI_STATUSES_IGNORE);
        if (rc != MPI_SUCCESS)
            return check_alarm(c, e) ? -1 : fail(c, rc, what, e);
        if (done)
            break;
        if (check_alarm(c, e))
            return -1;
        if (c->interrupt && *c->interrupt)
            return comm_set_interrupted(e, *c->interrupt);
        waited = now_s() - began;
        if (waited > c->timeout_s && c->lifeline && lifeline_ask(c->lifeline, &c->relayed, e))
            return -1;
        if (waited > c->timeout_s)
            return err_set(e, ERR_PEER,
                           "rank %d of %d on %s: %s (collective %lu) did not end within %g s: "
                           "another rank is gone or stuck; its output or the system's log says why",
                           c->rank, c->size, m->host, what, m->ncollectives, c->timeout_s);
        relax(waited);
    }
    m->nrequests = 0;
    return 0;
}

static MPI_Request *new_request(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);

    if (m->nrequests == m->capacity) {
        int capacity = m->capacity ? 2 * m->capacity : 16;
        MPI_Request *requests = realloc(m->requests, (size_t)capacity * sizeof *requests);
        if (!requests) {
            err_set(e, ERR_INTERNAL, "out of memory");
            return NULL;
        }
        m->requests = requests;
        m->capacity = capacity;
    }
    m->ncollectives++;
    if (c->lifeline)
        lifeline_count(c->lifeline);
    m->requests[m->nrequests] = MPI_REQUEST_NULL;
    return &m->requests[m->nrequests++];
}

static int start_reduce(struct comm *c, void *values, size_t n, MPI_Datatype type, size_t size,
                        MPI_Op op, const char *what, struct err *e)
{
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t part = n - at < CHUNK ? n - at : CHUNK;
        MPI_Request *request = new_request(c, e);
        if (!request)
            return -1;
        int rc = MPI_Iallreduce(MPI_IN_PLACE, (char *)values + at * size, (int)part, type, op,
                                MPI_COMM_WORLD, request);
        if (rc != MPI_SUCCESS)
            return fail(c, rc, what, e);
    }
    return 0;
}

static int reduce(struct comm *c, void *values, size_t n, MPI_Datatype type, size_t size, MPI_Op op,
                  const char *what, struct err *e)
{
    return start_reduce(c, values, n, type, size, op, what, e) || finish(c, what, e) ? -1 : 0;
}

static int mpi_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    return reduce(c, values, n, MPI_FLOAT, sizeof *values, MPI_SUM, "a sum of floats", e);
}

static int mpi_sum_double(struct comm *c, double *values, size_t n, struct err *e)
{
    return reduce(c, values, n, MPI_DOUBLE, sizeof *values, MPI_SUM, "a sum of doubles", e);
}

static int mpi_sum_int64(struct comm *c, int64_t *values, size_t n, struct err *e)
{
    return reduce(c, values, n, MPI_INT64_T, sizeof *values, MPI_SUM, "a sum of counts", e);
}

static int mpi_max_double(struct comm *c, double *values, size_t n, struct err *e)
{
    return reduce(c, values, n, MPI_DOUBLE, sizeof *values, MPI_MAX, "a maximum", e);
}

/* Starting the next slice also moves the earlier ones on: MPI has no thread for that. */
static int mpi_start_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    struct mpi *m = mpi_of(c);
    const char *what = "a sum of gradients";
    int done;

    if (start_reduce(c, values, n, MPI_FLOAT, sizeof *values, MPI_SUM, what, e))
        return -1;
    int rc = MPI_Testall(m->nrequests, m->requests, &done, MPI_STATUSES_IGNORE);
    return rc == MPI_SUCCESS ? 0 : fail(c, rc, what, e);
}

static int mpi_wait(struct comm *c, struct err *e)
{
    return finish(c, "a sum of gradients", e);
}

static int mpi_broadcast(struct comm *c, void *data, size_t nbytes, int root, struct err *e)
{
    const char *what = "a broadcast";

    for (size_t at = 0; at < nbytes; at += CHUNK) {
        size_t part = nbytes - at < CHUNK ? nbytes - at : CHUNK;
        MPI_Request *request = new_request(c, e);
        if (!request)
            return -1;
        int rc = MPI_Ibcast((char *)data + at, (int)part, MPI_BYTE, root, MPI_COMM_WORLD, request);
        if (rc != MPI_SUCCESS)
            return fail(c, rc, what, e);
    }
    return finish(c, what, e);
}

static int mpi_gather(struct comm *c, const void *one, void *all, size_t nbytes, struct err *e)
{
    const char *what = "a gathering";

    if (nbytes > CHUNK)
        return err_set(e, ERR_INTERNAL, "%s of %zu bytes by rank", what, nbytes);
    MPI_Request *request = new_request(c, e);
    if (!request)
        return -1;
    int rc = MPI_Iallgather(one, (int)nbytes, MPI_BYTE, all, (int)nbytes, MPI_BYTE, MPI_COMM_WORLD,
                            request);
    return rc == MPI_SUCCESS ? finish(c, what, e) : fail(c, rc, what, e);
}

static int mpi_barrier(struct comm *c, struct err *e)
{
    MPI_Request *request = new_request(c, e);
    if (!request)
        return -1;
    int rc = MPI_Ibarrier(MPI_COMM_WORLD, request);
    return rc == MPI_SUCCESS ? finish(c, "a barrier", e) : fail(c, rc, "a barrier", e);
}

/* Short messages leave at once; the requests are never waited for, the process ends before. */
static void send_alarm(struct comm *c, const struct err *e)
{
    static struct err notice;
    struct mpi *m = mpi_of(c);
    MPI_Request request;

    notice = *e;
    for (int r = 0; r < c->size; r++)
        if (r != c->rank)
            MPI_Isend(&notice, (int)sizeof notice, MPI_BYTE, r, ALARM_TAG, m->alarm, &request);
}

/* Rank 0 has written its marker when it comes here and ends the run. The others give it the time
 * to hear of the failure. */
static void mpi_abort(struct comm *c, const struct err *e)
{
    struct mpi *m = mpi_of(c);
    double grace = c->timeout_s < GRACE_S ? c->timeout_s : GRACE_S;
    double deadline = now_s() + grace;
    struct err ignored;

    if (!c->relayed) {
        log_error("%s", e->text);
        send_alarm(c, e);
    }
    while (c->rank != 0 && now_s() < deadline) {
        check_alarm(c, &ignored);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    free(m->requests);
    MPI_Abort(MPI_COMM_WORLD, e->code ? e->code : ERR_INTERNAL);
}

static void mpi_close(struct comm *c)
{
    struct mpi *m = mpi_of(c);
    struct err e;

    if (mpi_barrier(c, &e))
        log_warn("%s", e.text);
    else if (MPI_Comm_free(&m->alarm) != MPI_SUCCESS ||
             call_bounded(finalize_thread, c->timeout_s, NULL) != 0)
        log_warn("rank %d of %d on %s: MPI did not end within %g s", c->rank, c->size, m->host,
                 c->timeout_s);
    free(m->requests);
    free(m);
    free(c);
}

static const struct comm_ops mpi_ops = {
    .name = "mpi",
    .sum_float = mpi_sum_float,
    .sum_double = mpi_sum_double,
    .sum_int64 = mpi_sum_int64,
    .max_double = mpi_max_double,
    .start_sum_float = mpi_start_sum_float,
    .wait = mpi_wait,
    .broadcast = mpi_broadcast,
    .gather = mpi_gather,
    .barrier = mpi_barrier,
    .abort = mpi_abort,
    .close = mpi_close,
};

static int init_mpi(int rank, int size, const char *host, double timeout_s,
                    const volatile sig_atomic_t *interrupt, struct err *e)
{
    char who[300];
    int verdict = call_bounded(init_thread, timeout_s, interrupt);

    if (rank >= 0 && size > 0)
        snprintf(who, sizeof who, "rank %d of %d on %s", rank, size, host);
    else
        snprintf(who, sizeof who, "a rank on %s", host);
    if (verdict < 0)
        return err_set(e, ERR_INTERNAL, "%s: cannot start a thread for MPI", who);
    if (verdict > 128)
        return comm_set_interrupted(e, verdict - 128);
    if (verdict)
        return err_set(e, ERR_PEER, "%s: MPI did not come up within %g s: not all ranks started, "
                       "or they cannot reach each other", who, timeout_s);
    if (call.rc != MPI_SUCCESS || call.provided < MPI_THREAD_SERIALIZED)
        return err_set(e, ERR_PEER, "%s: MPI_Init_thread failed (code %d, thread level %d)", who,
                       call.rc, call.provided);
    return 0;
}

struct comm *comm_mpi_open(int expected_rank, int expected_size, double timeout_s,
                           const volatile sig_atomic_t *interrupt, struct err *e)
{
    struct comm *c = calloc(1, sizeof *c);
    struct mpi *m = calloc(1, sizeof *m);

    if (!c || !m) {
        err_set(e, ERR_INTERNAL, "out of memory");
        goto fail;
    }
    if (gethostname(m->host, sizeof m->host - 1))
        strcpy(m->host, "unknown host");
    if (init_mpi(expected_rank, expected_size, m->host, timeout_s, interrupt, e))
        goto fail;
    *c = (struct comm){.ops = &mpi_ops, .timeout_s = timeout_s, .interrupt = interrupt, .priv = m};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c->size);
    int rc = MPI_Comm_dup(MPI_COMM_WORLD, &m->alarm);
    if (rc == MPI_SUCCESS)
        return c;
    fail(c, rc, "MPI_Comm_dup", e);
fail:
    free(m);
    free(c);
    return NULL;
}

const char *comm_mpi_version(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    if (!text[0] && MPI_Get_library_version(text, &length) == MPI_SUCCESS)
        text[strcspn(text, ",\n")] = 0;
    return text;
}

#endif
