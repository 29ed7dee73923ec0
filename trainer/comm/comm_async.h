/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator that sums in the background: a thread sums the slices of start_sum_float over an
 * inner communicator while the rank computes. From start to wait only that thread uses the inner
 * communicator, apart from sum_small, which may run beside it. The other collectives therefore
 * wait for the thread first, and every rank makes the same calls in the same order. */
#ifndef UNETCTL_TRAINER_COMM_COMM_ASYNC_H
#define UNETCTL_TRAINER_COMM_COMM_ASYNC_H

#include "trainer/comm/comm.h"

/* Returns a communicator that owns inner, whose interrupt and lifeline must be set already. NULL on
 * error; the caller still owns inner then. */
struct comm *comm_async_open(struct comm *inner, struct err *e);

#endif
