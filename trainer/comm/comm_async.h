/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator that sums in the background: a thread sums the slices of start_sum_float over an
 * inner communicator while the rank computes. From start to wait only that thread uses the inner
 * communicator, apart from sum_small, which may run beside it. The other collectives therefore
 * wait for the thread first, and every rank makes the same calls in the same order. */
#ifndef UNETCTL_TRAINER_COMM_COMM_ASYNC_H
#define UNETCTL_TRAINER_COMM_COMM_ASYNC_H

#include "trainer/comm/comm.h"

/* Horovod's tensor fusion (Sergeev and Del Balso 2018, https://arxiv.org/abs/1802.05799): once per
 * cycle, a small collective determines which slices all ranks have started, and as many of these as
 * fit are copied into a buffer of nbytes and summed together. From the first start_sum_float to
 * wait a rank may only call start_sum_float and sum_small. */
struct comm_async_fusion {
    size_t nbytes;
    double cycle_s;
};

/* Returns a communicator that owns inner, whose interrupt, lifeline and wire must be set already.
 * fusion: NULL to sum each slice by itself. Returns NULL on error; the caller still owns inner
 * then. */
struct comm *comm_async_open(struct comm *inner, const struct comm_async_fusion *fusion,
                             struct err *e);

#endif
