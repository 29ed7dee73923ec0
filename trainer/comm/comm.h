/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives between the replicas of a run. One vtable; the session never asks which it is.
 *
 * Every rank makes the same calls in the same order with the same sizes. Every wait is bounded: it
 * ends with ERR_PEER when timeout_s pass, when another rank has called abort (then the error is
 * that rank's, code and text), or when *interrupt becomes non-zero (code 128 + its value). After
 * an error the only calls left are abort and close, and what was handed to the failed call must
 * live until every rank has ended: a thread may still be reading it. */
#ifndef UNETCTL_TRAINER_COMM_COMM_H
#define UNETCTL_TRAINER_COMM_COMM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/dtype.h"
#include "trainer/comm/reduce.h"

struct comm;
struct lifeline;

struct comm_ops {
    const char *name; /* self | thread | mpi | nccl */
    /* Memory for n floats whose sums cost least, in *values; it lives until close. NULL: any
     * other memory is as good. Once. */
    int (*place)(struct comm *c, size_t n, float **values, struct err *e);
    /* Over ranks, in place; same bits on every rank. n elements of op's type: comm_sum_float and
     * its like say which. */
    int (*reduce)(struct comm *c, void *values, size_t n, enum reduce_op op, struct err *e);
    /* Start a sum of a slice; several may be under way; every rank starts them in the same order.
     * wait ends all of them. A communicator without progress of its own does the work in wait. */
    int (*start_sum_float)(struct comm *c, float *values, size_t n, struct err *e);
    int (*wait)(struct comm *c, struct err *e);
    /* A sum of few doubles in the middle of a step: slices that were started go on, and nothing
     * waits for them. */
    int (*sum_aside)(struct comm *c, double *values, size_t n, struct err *e);
    int (*broadcast)(struct comm *c, void *data, size_t nbytes, int root, struct err *e);
    /* size blocks of nbytes each, by rank, into all (size * nbytes) on every rank. */
    int (*gather)(struct comm *c, const void *one, void *all, size_t nbytes, struct err *e);
    int (*barrier)(struct comm *c, struct err *e);
    /* Of communicators that reach a device's memory; NULL elsewhere. queue_sum queues a sum of n
     * elements of DEVICE_LOCAL or DEVICE_SHARED memory in a stream (device_ops.stream, .branch) of
     * this rank's device, where it can be recorded. queue_place: memory of nbytes for the device,
     * where such sums cost least; *p NULL: any other is as good. Once. check: a rank that waits for
     * its device by itself, since so many seconds, asks whether it must not any longer. */
    int (*queue_sum)(struct comm *c, void *stream, void *values, size_t n, enum reduce_op op,
                     struct err *e);
    int (*queue_place)(struct comm *c, size_t nbytes, void **p, struct err *e);
    int (*check)(struct comm *c, double waited_s, struct err *e);
    /* This rank has failed with e: make the others' waits end with it. Where the ranks are
     * processes, it takes them down after they had the time to write what they must, and does
     * not return. */
    void (*abort)(struct comm *c, const struct err *e);
    void (*close)(struct comm *c); /* NULL is not allowed: close what was opened */
};

struct comm_span {
    double began, ended; /* clock_now() */
};

struct comm {
    const struct comm_ops *ops;
    int rank, size;
    double timeout_s;
    const atomic_int *interrupt; /* signal that asks the run to end; NULL: none */
    atomic_int leaving; /* so does whoever owns the communicator, as if by this signal; 0: not so */
    struct lifeline *lifeline; /* of processes that have met, not the comm's; NULL: none */
    enum dtype wire; /* as what start_sum_float sends numbers to other nodes; sums are of floats */
    bool spins; /* no core has more threads that compute than one: waits may keep theirs busy */
    bool background; /* a thread beside the one that computes calls it: its waits leave the core */
    atomic_bool relayed; /* the last error came from another rank, which reports it */
    const struct comm_span *spans; /* of the sums that a thread of its own did until the last
                                    * wait */
    size_t nspans;
    void *priv;
};

static inline int comm_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    return c->ops->reduce(c, values, n, REDUCE_SUM_FLOAT, e);
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

/* As ops->place, where any memory is as good. */
int comm_no_place(struct comm *c, size_t n, float **values, struct err *e);

/* The error of a run that a signal ends. Returns -1. */
int comm_set_interrupted(struct err *e, int signal);

/* Must a wait end? Then -1 with that error. */
int comm_check_interrupt(const struct comm *c, struct err *e);

/* Puts the rank that failed, and its host unless NULL, in front of its error. Not where the text
 * has it already, nor before a signal's error, which every rank gets. Returns -1. */
int comm_name_rank(struct err *e, int rank, const char *host);

#endif
