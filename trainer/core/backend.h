/* SPDX-License-Identifier: BSD-3-Clause */
/* A backend: a table of kernels, and the look-up of the kernel that does an op. */
#ifndef UNETCTL_TRAINER_CORE_BACKEND_H
#define UNETCTL_TRAINER_CORE_BACKEND_H

#include <stdbool.h>

#include "trainer/core/kernel.h"

struct backend {
    const char *name;
    const struct kernel *const *kernels; /* NULL-terminated, in order of preference */
    bool fuses;                          /* graphs for it are passed to fuse_graph */
    const struct device_ops *device;     /* where its kernels run; NULL: on the host */
    const struct backend *fallback;      /* (optional) computes ops for which it has no kernel */
};

/* Returns whether the backend itself, without its fallback, has a kernel for the op. */
bool backend_has_kernel(const struct backend *backend, const struct op *op);

/* Returns the backend's first kernel for the op, or else its fallback's, or NULL. */
const struct kernel *backend_kernel(const struct backend *backend, const struct op *op);

#endif
