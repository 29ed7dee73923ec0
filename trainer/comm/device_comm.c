/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/device_comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/backends/backends.h"

#define ORDERS_FROM 22600        /* NCCL 2.26 */
#define DRIVER_ORDERS_FROM 12090 /* CUDA 12.9 */

static const char order[] = "NCCL_LAUNCH_ORDER_IMPLICIT", algorithm[] = "NCCL_ALGO",
                  registers[] = "NCCL_GRAPH_REGISTER";

bool device_comm_prepare(int version, int driver, bool deterministic)
{
    bool orders = version >= ORDERS_FROM && driver >= DRIVER_ORDERS_FROM;

    setenv(registers, "0", 0);
    if (orders)
        setenv(order, "1", 0);
    if (deterministic)
        setenv(algorithm, "Ring", 0);
    const char *chosen = getenv(order);
    return orders && chosen && strcmp(chosen, "1") == 0;
}

void device_comm_describe(char dst[DEVICE_COMM_SETTINGS])
{
    const char *const names[] = {order, algorithm, registers};
    size_t n = 0;

    *dst = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && n < DEVICE_COMM_SETTINGS)
            n += (size_t)snprintf(dst + n, DEVICE_COMM_SETTINGS - n, "%s%s=%s", n ? " " : "",
                                  names[i], value);
    }
}

int device_comm_open(struct device_comm *d, const struct device_comm_config *c, struct err *e)
{
    const struct backend *b = backend_find(c->backend);

    *d = (struct device_comm){.ops = b ? b->device : NULL};
    if (!d->ops)
        return err_set(e, ERR_CONFIG, "comm nccl connects GPUs, and there is no backend \"%s\" "
                       "with GPUs in this build", c->backend);
    d->nccl = nccl_library_open(e);
    if (!d->nccl)
        return -1;
    (void)d->nccl->get_version(&d->version); /* reads no environment */
    d->is_ordered = device_comm_prepare(d->version, c->driver, c->deterministic);
    d->device = d->ops->open(c->index, e);
    if (!d->device)
        return -1;
    snprintf(d->name, sizeof d->name, "GPU %016" PRIx64, d->ops->id(d->device));
    int rc = c->first ? d->nccl->get_id(&d->id) : NCCL_SUCCESS;
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
