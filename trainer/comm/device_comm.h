/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPU of a rank and the NCCL library, opened before the ranks connect. */
#ifndef UNETCTL_TRAINER_COMM_DEVICE_COMM_H
#define UNETCTL_TRAINER_COMM_DEVICE_COMM_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/comm/nccl_library.h"
#include "trainer/core/kernel.h"

struct device_comm {
    const struct nccl_calls *nccl;
    const struct device_ops *ops;
    struct device *device;
    int version;     /* of NCCL; 0: unknown */
    bool is_ordered; /* see device_comm_prepare */
    char name[64]; /* unique to this device; "" while none is open */
    struct nccl_id id; /* which all ranks need to connect */
};

struct device_comm_config {
    const char *backend;
    int index;  /* as for device_ops.open */
    int driver; /* the CUDA that the driver supports: 12090 is 12.9 */
    bool first; /* this is rank 0, which creates the id; the caller sends it to the other ranks */
    bool deterministic; /* repeated sums give the same bits */
};

/* Called by the thread that will use the device. After an error *d may be closed. */
int device_comm_open(struct device_comm *d, const struct device_comm_config *c, struct err *e);

/* Sets environment variables of NCCL of this version before its first call, except those that the
 * user has set. Returns whether NCCL then orders the work of two communicators of a process, which
 * otherwise must not be in flight at the same time.
 *   NCCL_GRAPH_REGISTER=0, as registering the buffers of captured sums synchronises the processes
 *     of a node
 *   NCCL_LAUNCH_ORDER_IMPLICIT=1, which NCCL 2.26 knows, with a driver for CUDA 12.9
 *   NCCL_ALGO=Ring, if deterministic: other algorithms, such as NVLS, need not repeat their bits */
bool device_comm_prepare(int version, int driver, bool deterministic);

/* Writes those variables as this process has them: "NCCL_ALGO=Ring NCCL_GRAPH_REGISTER=0". */
#define DEVICE_COMM_SETTINGS 256
void device_comm_describe(char dst[DEVICE_COMM_SETTINGS]);

/* Called after the communicator is closed. A zeroed *d is allowed. */
void device_comm_close(struct device_comm *d);

#endif
