/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPU of a rank and the NCCL library, opened before the ranks connect. */
#ifndef UNETCTL_TRAINER_COMM_DEVICE_COMM_H
#define UNETCTL_TRAINER_COMM_DEVICE_COMM_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/comm/nccl_library.h"
#include "trainer/core/device.h"

struct device_comm {
    const struct nccl_calls *nccl;
    const struct device_ops *ops;
    struct device *device;
    char name[64]; /* unique to this device; "" while none is open */
    struct nccl_id id; /* which all ranks need to connect */
};

/* Called by the thread that will use the device. index: as for device_ops.open. first: this is rank
 * 0, which creates d->id; the caller sends the id to the other ranks. After an error *d may be
 * closed. */
int device_comm_open(struct device_comm *d, const char *backend, int index, bool first,
                     struct err *e);

/* Called after the communicator is closed. A zeroed *d is allowed. */
void device_comm_close(struct device_comm *d);

#endif
