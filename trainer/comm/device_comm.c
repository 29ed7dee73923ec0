/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/device_comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trainer/backends/backends.h"

int device_comm_open(struct device_comm *d, const char *backend, int index, bool first,
                     struct err *e)
{
    const struct backend *b = backend_find(backend);

    /* Registering the buffers of captured sums synchronises the processes of a node. */
    setenv("NCCL_GRAPH_REGISTER", "0", 0);
    *d = (struct device_comm){.ops = b ? b->device : NULL};
    if (!d->ops)
        return err_set(e, ERR_CONFIG, "comm nccl connects GPUs, and there is no backend \"%s\" "
                       "with GPUs in this build", backend);
    d->nccl = nccl_library_open(e);
    d->device = d->nccl ? d->ops->open(index, e) : NULL;
    if (!d->device)
        return -1;
    snprintf(d->name, sizeof d->name, "GPU %016" PRIx64, d->ops->id(d->device));
    int rc = first ? d->nccl->get_id(&d->id) : NCCL_SUCCESS;
    if (rc != NCCL_SUCCESS)
        return err_set(e, ERR_CONFIG,
                       "NCCL cannot listen for the other ranks: %s; NCCL_SOCKET_IFNAME names "
                       "the network interface, NCCL_DEBUG=INFO shows details",
                       d->nccl->get_error_string(rc));
    return 0;
}

void device_comm_close(struct device_comm *d)
{
    if (d->ops)
        d->ops->close(d->device);
    *d = (struct device_comm){0};
}
