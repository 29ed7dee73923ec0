/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/core/mirror.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 64

int mirror_open(struct mirror *m, const struct device_ops *ops, struct device *device,
                size_t nbytes, struct err *e)
{
    size_t whole = (nbytes / ALIGN + 1) * ALIGN;

    *m = (struct mirror){.ops = ops, .device = device, .nbytes = nbytes};
    m->host = aligned_alloc(ALIGN, whole);
    if (!m->host)
        return err_set(e, ERR_INTERNAL, "out of memory for %zu bytes", nbytes);
    m->there = ops ? ops->alloc(device, DEVICE_LOCAL, whole, e) : m->host;
    return !m->there || mirror_clear(m, e) || (ops && ops->drain(device, e)) ? -1 : 0;
}

void mirror_close(struct mirror *m)
{
    if (m->ops)
        m->ops->free(m->device, DEVICE_LOCAL, m->there);
    free(m->host);
    *m = (struct mirror){0};
}

int mirror_pull(const struct mirror *m, struct err *e)
{
    return m->ops && (m->ops->copy(m->device, m->host, m->there, m->nbytes, e) ||
                      m->ops->drain(m->device, e)) ? -1 : 0;
}

/* The host may change its memory on return. */
int mirror_push(const struct mirror *m, struct err *e)
{
    return m->ops && (m->ops->copy(m->device, m->there, m->host, m->nbytes, e) ||
                      m->ops->drain(m->device, e)) ? -1 : 0;
}

int mirror_clear(const struct mirror *m, struct err *e)
{
    memset(m->host, 0, m->nbytes);
    return m->ops ? m->ops->clear(m->device, m->there, m->nbytes, e) : 0;
}
