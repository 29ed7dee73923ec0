/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks with one GPU each, connected by NCCL.
 * Values in host memory are copied to the GPU and back; queue_sum sums on the GPU, in a stream of
 * the caller.
 *
 * No call of NCCL blocks, and every wait before close checks the other ranks, NCCL's errors,
 * signals and the deadline. abort waits at most 3 s: it aborts NCCL's communicators, which ends
 * their work on the GPU, all at the same time, in threads. */
#ifndef UNETCTL_TRAINER_COMM_COMM_NCCL_H
#define UNETCTL_TRAINER_COMM_COMM_NCCL_H

#include "trainer/comm/comm.h"
#include "trainer/comm/device_comm.h"

/* Collective. gpu: opened by the calling thread, with the id of rank 0; must outlive the
 * communicator. Fails after timeout_s and some seconds that it takes to find the reason. Returns
 * NULL on error. */
struct comm *comm_nccl_open(const struct comm_config *config, const struct device_comm *gpu,
                            struct err *e);

#endif
