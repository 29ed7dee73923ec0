/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator that sums in the background: a thread sums the slices of start_sum_float over an
 * inner communicator while the rank computes. Until wait only the thread uses the inner
 * communicator; all calls but sum_small first wait for the thread, so that every rank makes the
 * same calls in the same order. */
#ifndef UNETCTL_TRAINER_COMM_COMM_ASYNC_H
#define UNETCTL_TRAINER_COMM_COMM_ASYNC_H

#include "trainer/comm/comm.h"

/* Horovod's tensor fusion: once per cycle the slices that all ranks have started, which a small
 * collective finds out, are copied into a buffer of nbytes and summed together. Between start and
 * wait a rank may call nothing but sum_small. */
struct comm_async_fusion {
    size_t nbytes;
    double cycle_s;
};

/* Owns inner, whose interrupt, lifeline and wire must be set already. fusion NULL: each slice is
 * summed by itself. NULL on error; inner then stays the caller's. */
struct comm *comm_async_open(struct comm *inner, const struct comm_async_fusion *fusion,
                             struct err *e);

#endif
