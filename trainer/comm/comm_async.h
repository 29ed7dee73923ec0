/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator that sums in the background: a thread takes the slices that start_sum_float brings
 * and sums them over another communicator, while the rank goes on with backward. The thread has
 * that communicator for itself until wait; all other calls first wait for it, so that every rank
 * makes the same calls in the same order. Only sum_aside goes on beside it. */
#ifndef UNETCTL_TRAINER_COMM_COMM_ASYNC_H
#define UNETCTL_TRAINER_COMM_COMM_ASYNC_H

#include "trainer/comm/comm.h"

/* Slices that are there are copied into a buffer of so many bytes and summed together: at most once
 * in a cycle, those that all ranks have by then, which costs a small collective to find out. As
 * Horovod does it. Between start and wait no rank may call anything else but sum_aside. */
struct comm_async_fusion {
    size_t nbytes;
    double cycle_s;
};

/* Takes over inner, whose interrupt, lifeline and wire must have been set. fusion NULL: each slice
 * is summed by itself. NULL on error, and inner stays the caller's. */
struct comm *comm_async_open(struct comm *inner, const struct comm_async_fusion *fusion,
                             struct err *e);

#endif
