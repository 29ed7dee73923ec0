/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's GPU and NCCL, opened before the ranks connect. */
#ifndef UNETCTL_TRAINER_COMM_DEVICE_COMM_H
#define UNETCTL_TRAINER_COMM_DEVICE_COMM_H

#include <stdbool.h>

#include "trainer/comm/comm_nccl.h"

struct device_comm {
    const struct nccl_calls *nccl;
    const struct device_ops *ops;
    struct device *device;
    char name[64]; /* unique to this device; "": there is none */
    struct nccl_id id;
};

/* Called by the thread that will use the device; index: as device_ops.open has it. first: this is
 * rank 0, which makes the id that the others must get. On error *d can be closed. */
int device_comm_open(struct device_comm *d, const char *backend, int index, bool first,
                     struct err *e);

/* comm_nccl_open, on all ranks, when d has rank 0's id. */
struct comm *device_comm_link(const struct device_comm *d, const struct comm_nccl_config *config,
                              struct err *e);

/* After the communicator was closed. A zeroed one is fine. */
void device_comm_close(struct device_comm *d);

#endif
