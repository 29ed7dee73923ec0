/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator that sums in the background: a thread takes the slices that start_sum_float brings
 * and sums them over another communicator, while the rank goes on with backward. The thread has
 * that communicator for itself until wait; all other calls first wait for it, so that every rank
 * makes the same calls in the same order, and MPI is never called by two threads at once. */
#ifndef UNETCTL_TRAINER_COMM_COMM_ASYNC_H
#define UNETCTL_TRAINER_COMM_COMM_ASYNC_H

#include "trainer/comm/comm.h"

/* Takes over inner, whose interrupt and lifeline must have been set. NULL on error, and inner stays
 * the caller's. */
struct comm *comm_async_open(struct comm *inner, struct err *e);

#endif
