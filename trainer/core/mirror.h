/* SPDX-License-Identifier: BSD-3-Clause */
/* An array of the host's memory, with a copy on a device if there is one. The two are copied to
 * each other explicitly. Functions that return int return 0, or -1 with *e set. */
#ifndef UNETCTL_TRAINER_CORE_MIRROR_H
#define UNETCTL_TRAINER_CORE_MIRROR_H

#include "trainer/core/device.h"

struct mirror {
    const struct device_ops *ops; /* NULL: no device */
    struct device *device;
    void *host;  /* 64-byte aligned */
    void *there; /* what kernels work on: DEVICE_LOCAL memory, or without a device host */
    size_t nbytes;
};

/* Allocates both, zeroed. */
int mirror_open(struct mirror *m, const struct device_ops *ops, struct device *device,
                size_t nbytes, struct err *e);
void mirror_close(struct mirror *m); /* a zeroed one is allowed */

/* Copy from the device, once its queue is empty, and to it. Do nothing without a device. */
int mirror_pull(const struct mirror *m, struct err *e);
int mirror_push(const struct mirror *m, struct err *e);

/* Zeroes both. */
int mirror_clear(const struct mirror *m, struct err *e);

#endif
