/* SPDX-License-Identifier: BSD-3-Clause */
/* A backend: a table of kernels, and the look-up of the kernel that does an op. */
#ifndef UNETCTL_TRAINER_CORE_BACKEND_H
#define UNETCTL_TRAINER_CORE_BACKEND_H

#include <stdbool.h>

#include "trainer/core/kernel.h"

struct backend {
    const char *name;
    const struct kernel *const *kernels; /* NULL-terminated; the first that can do an op does it */
    /* (optional) Returns whether a kernel that can do an op may be used. */
    bool (*trusts)(const struct kernel *kernel, const struct op *op);
    bool fuses;                          /* graphs for it go through fuse_graph */
    const struct device_ops *device;     /* where its kernels run; NULL: on the host */
    const struct backend *fallback;      /* (optional) does the ops for which it has no kernel */
};

/* Returns whether the kernel does ops of this kind and form, of some sizes and types. */
bool backend_kernel_fits(const struct kernel *kernel, const struct op *op);

/* Returns whether a kernel of the backend's table can do this op. */
bool backend_can(const struct backend *backend, const struct kernel *kernel, const struct op *op);

/* Returns whether the backend has a kernel for this op of its own, without its fallback. */
bool backend_has_kernel(const struct backend *backend, const struct op *op);

/* Returns the first kernel for this op and the types of its tensors of the backend, or else of its
 * fallback; or NULL. */
const struct kernel *backend_kernel(const struct backend *backend, const struct op *op);

#endif
