/* SPDX-License-Identifier: BSD-3-Clause */
/* Replicas with a GPU each, connected by NCCL: as threads of one process, or one process each. What
 * is in the host's memory goes over the GPU; queue_sum sums on it, in its queue.
 *
 * NCCL itself waits for ever. Here none of its calls block, and every wait looks after the other
 * ranks, NCCL's own errors, signals and the deadline; where one of them ends it, what runs on the
 * GPU is aborted. */
#ifndef UNETCTL_TRAINER_COMM_COMM_NCCL_H
#define UNETCTL_TRAINER_COMM_COMM_NCCL_H

#include "trainer/comm/comm.h"
#include "trainer/comm/nccl_library.h"
#include "trainer/core/device.h"

struct comm_nccl_config {
    const struct nccl_calls *nccl;
    const struct nccl_id *id; /* rank 0's, the same on every rank */
    /* This rank's, no other's, opened by the calling thread; it outlives the communicator. */
    const struct device_ops *ops;
    struct device *device;
    int rank, size;
    const char *host;
    double timeout_s;
    const atomic_int *interrupt; /* as in struct comm */
    struct lifeline *lifeline;   /* as in struct comm */
    struct comm *thread; /* of ranks that are threads: theirs (comm_thread), by which they hear of
                          * failures; NULL */
};

/* Every rank calls it; ends within timeout_s. NULL on error. */
struct comm *comm_nccl_open(const struct comm_nccl_config *config, struct err *e);

#endif
