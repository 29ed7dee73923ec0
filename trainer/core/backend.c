/* SPDX-License-Identifier: BSD-3-Clause */
/* The look-up of kernels in the tables of a backend and its fallback. */
#include "config.h"
#include "trainer/core/backend.h"

static bool takes_types(const struct kernel *kernel, const struct op *op)
{
    return kernel->types == KERNEL_ANY || (kernel->types == KERNEL_FLOATS) == op_is_float(op);
}

static const struct kernel *find_kernel(const struct backend *backend, const struct op *op)
{
    for (size_t i = 0; backend->kernels[i]; i++) {
        const struct kernel *kernel = backend->kernels[i];

        if (kernel->kind == op->kind && takes_types(kernel, op) &&
            (!kernel->supports || kernel->supports(op)))
            return kernel;
    }
    return NULL;
}

bool backend_has_kernel(const struct backend *backend, const struct op *op)
{
    return find_kernel(backend, op) != NULL;
}

const struct kernel *backend_kernel(const struct backend *backend, const struct op *op)
{
    const struct kernel *kernel = find_kernel(backend, op);

    return kernel || !backend->fallback ? kernel : find_kernel(backend->fallback, op);
}
