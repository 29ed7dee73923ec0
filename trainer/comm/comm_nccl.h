/* SPDX-License-Identifier: BSD-3-Clause */
/* Replicas with a GPU each, connected by NCCL, as threads of one process or as one process each.
 * Host memory is copied to the GPU and back; queue_sum sums on the GPU, in its queue.
 *
 * NCCL's calls are made so that none blocks, and every wait checks the other ranks, NCCL's errors,
 * signals and the deadline. When one of them ends the wait, the work on the GPU is aborted. */
#ifndef UNETCTL_TRAINER_COMM_COMM_NCCL_H
#define UNETCTL_TRAINER_COMM_COMM_NCCL_H

#include "trainer/comm/comm.h"
#include "trainer/comm/nccl_library.h"
#include "trainer/core/device.h"

struct comm_nccl_config {
    const struct nccl_calls *nccl;
    const struct nccl_id *id; /* rank 0's, the same on every rank */
    /* This rank's alone, opened by the calling thread; outlives the communicator. */
    const struct device_ops *ops;
    struct device *device;
    int rank, size;
    const char *host;
    double timeout_s;
    const atomic_int *interrupt; /* as in struct comm */
    struct lifeline *lifeline;   /* as in struct comm */
    struct comm *thread; /* the comm_thread of ranks that are threads, which reports failures; or
                          * NULL */
};

/* Every rank calls it; ends within timeout_s. NULL on error. */
struct comm *comm_nccl_open(const struct comm_nccl_config *config, struct err *e);

#endif
