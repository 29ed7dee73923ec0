/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank brings to a meeting of GPUs: its own, and, from rank 0, where all find each other. */
#ifndef UNETCTL_TRAINER_COMM_DEVICE_COMM_H
#define UNETCTL_TRAINER_COMM_DEVICE_COMM_H

#include <stdbool.h>

#include "trainer/comm/comm_nccl.h"

struct device_comm {
    const struct nccl_calls *nccl;
    const struct device_ops *ops;
    struct device *device;
    char name[64]; /* of this device and no other in the world; "": there is none */
    struct nccl_id id;
};

/* By the thread that will use it; index as device_ops.open takes it. first: this is rank 0, which
 * makes the id; the others are to get it. On error *d can be closed. */
int device_comm_open(struct device_comm *d, const char *backend, int index, bool first,
                     struct err *e);

/* All ranks with rank 0's id: comm_nccl_open with what is known here. */
struct comm *device_comm_link(const struct device_comm *d, const struct comm_nccl_config *config,
                              struct err *e);

/* After the communicator. A zeroed one is fine. */
void device_comm_close(struct device_comm *d);

#endif
