/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives between the replicas (ranks) of a run, behind one interface.
 *
 * run/membership.c opens a communicator (comm_open.h): of one rank, of the ranks of a node, by MPI,
 * or by NCCL. step/, run/ and evaluate/ then call the functions below without knowing which. Every
 * rank makes the same calls in the same order with the same sizes, and gets the same bits. Every
 * wait has a deadline: it fails with ERR_PEER after timeout_s, with the error of another rank that
 * has called abort, or with code 128 + *interrupt if that becomes nonzero. After an error only
 * abort and close may be called.
 *
 * To read: this file, comm.c; shared_reduce.c and node.c for sums in shared memory; comm_mpi.c;
 * comm_nccl.c with nccl_library.h; rendezvous/ for how ranks find each other and notice that one is
 * lost. */
#pragma once

#include "src/base.h"

#include <stdatomic.h>

enum reduce_op { REDUCE_SUM_FLOAT, REDUCE_SUM_DOUBLE, REDUCE_SUM_INT64, REDUCE_MAX_DOUBLE };

struct comm;
struct lifeline;

struct comm_ops {
    const char *name; /* "self", "node", "mpi" or "nccl" */
    /* (Optional: by comm_reduce_buffer) Sets *values to memory for n floats in which this
     * communicator sums fastest, or to NULL if it sums equally fast in any memory. The communicator
     * owns it until close. Called at most once. */
    int (*reduce_buffer)(struct comm *c, size_t n, float **values, struct err *e);
    /* Reduces n elements over all ranks, in place, with the same bits on every rank. comm_sum_float
     * and the functions after it are the typed forms. */
    int (*reduce)(struct comm *c, void *values, size_t n, enum reduce_op op, struct err *e);
    /* (Optional: by comm_start_sum_float and comm_wait) Starts a sum of a slice; several may be in
     * flight. Every rank starts them in the same order. wait completes all of them, and a
     * communicator without a thread of its own may do all of the work in wait. */
    int (*start_sum_float)(struct comm *c, float *values, size_t n, struct err *e);
    int (*wait)(struct comm *c, struct err *e);
    /* Sums a few doubles within a step, while slices stay in flight. */
    int (*sum_small)(struct comm *c, double *values, size_t n, struct err *e);
    int (*broadcast)(struct comm *c, void *data, size_t nbytes, struct err *e); /* of rank 0 */
    /* Copies nbytes of each rank, in the order of ranks, to all (size * nbytes) on every rank. */
    int (*gather)(struct comm *c, const void *one, void *all, size_t nbytes, struct err *e);
    int (*barrier)(struct comm *c, struct err *e);
    /* Sends data[0, nbytes) to rank peer and receives data[nbytes, 2 nbytes) from it; only these
     * two ranks call it. The memory is DEVICE_LOCAL if there is a queue_sum, else the host's. NULL
     * for ranks that share memory. */
    int (*exchange)(struct comm *c, int peer, char *data, size_t nbytes, struct err *e);
    /* Queues a sum over the ranks of n elements of DEVICE_LOCAL memory in `stream`, a stream of
     * this rank's device (device_ops.stream or .branch), and returns at once. If the stream is
     * being captured, the sum becomes a part of the device graph; then all ranks must capture it.
     * Urgent sums, which are queued in another stream, need not wait for the others. NULL: only the
     * host's memory can be summed. */
    int (*queue_sum)(struct comm *c, void *stream, bool urgent, void *values, size_t n,
                     enum reduce_op op, struct err *e);
    /* (With queue_sum) Called while a rank waits for its device; -1 ends the wait. */
    int (*check)(struct comm *c, double waited_s, struct err *e);
    /* Ends work that waits for other ranks, because this rank has failed with e, of which the
     * lifeline informs them. With queue_sum, device graphs with sums are discarded before, and
     * after it nothing may wait for the device, as its work need not have ended. "mpi" ends all
     * processes of the run, after rank 0 has had time to write its results, and does not return. */
    void (*abort)(struct comm *c, const struct err *e);
    void (*close)(struct comm *c); /* c must not be NULL */
};

struct comm_span {
    double began, ended; /* times of clock_now() */
};

struct comm {
    const struct comm_ops *ops;
    int rank, size;
    char host[256];
    double timeout_s;
    const atomic_int *interrupt; /* the signal that asks the run to end, or 0; NULL for none */
    atomic_int leaving;          /* as *interrupt, set by the owner of the communicator */
    struct lifeline *lifeline;   /* detects lost processes (rendezvous.h); borrowed, or NULL */
    bool spins;      /* each computing thread has a core of its own, so that waits may poll */
    atomic_bool relayed; /* the last error came from another rank, which reports it */
    const char *what;    /* the last collective but sum_small, for errors */
    atomic_ulong ncollectives;
    /* The times at which a thread executed the sums that the last wait completed; valid until the
     * next sum is started. Without such a thread nspans is 0. */
    const struct comm_span *spans;
    size_t nspans;
    void *priv;
};

static inline int comm_reduce_buffer(struct comm *c, size_t n, float **values, struct err *e)
{
    *values = NULL;
    return c->ops->reduce_buffer ? c->ops->reduce_buffer(c, n, values, e) : 0;
}

static inline int comm_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    return c->ops->reduce(c, values, n, REDUCE_SUM_FLOAT, e);
}

/* Without start_sum_float the sum is complete on return. */
static inline int comm_start_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    return c->ops->start_sum_float ? c->ops->start_sum_float(c, values, n, e)
                                   : comm_sum_float(c, values, n, e);
}

static inline int comm_wait(struct comm *c, struct err *e)
{
    return c->ops->wait ? c->ops->wait(c, e) : 0;
}

static inline int comm_sum_double(struct comm *c, double *values, size_t n, struct err *e)
{
    return c->ops->reduce(c, values, n, REDUCE_SUM_DOUBLE, e);
}

static inline int comm_sum_int64(struct comm *c, int64_t *values, size_t n, struct err *e)
{
    return c->ops->reduce(c, values, n, REDUCE_SUM_INT64, e);
}

static inline int comm_max_double(struct comm *c, double *values, size_t n, struct err *e)
{
    return c->ops->reduce(c, values, n, REDUCE_MAX_DOUBLE, e);
}
