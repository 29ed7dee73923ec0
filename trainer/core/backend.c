/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/core/backend.h"

static bool has_halves(const struct op *op)
{
    for (int k = -1; op_next_in(op, &k);)
        if (op->in[k]->dtype != DTYPE_F32)
            return true;
    for (int k = -1; op_next_out(op, &k);)
        if (op->out[k]->dtype != DTYPE_F32)
            return true;
    return false;
}

static bool takes_types(const struct kernel *kernel, const struct op *op)
{
    return kernel->types == KERNEL_ANY || (kernel->types == KERNEL_HALVES) == has_halves(op);
}

bool backend_kernel_fits(const struct kernel *kernel, const struct op *op)
{
    unsigned form = op_form(op);

    return kernel->kind == op->kind && !(form & ~(kernel->may | kernel->must)) &&
           !(kernel->must & ~form);
}

bool backend_can(const struct backend *backend, const struct kernel *kernel, const struct op *op)
{
    return backend_kernel_fits(kernel, op) && takes_types(kernel, op) &&
           (!kernel->supports || kernel->supports(op)) &&
           (!backend->trusts || backend->trusts(kernel, op));
}

static const struct kernel *find(const struct backend *backend, const struct op *op)
{
    for (size_t i = 0; backend->kernels[i]; i++)
        if (backend_can(backend, backend->kernels[i], op))
            return backend->kernels[i];
    return NULL;
}

bool backend_has_kernel(const struct backend *backend, const struct op *op)
{
    return find(backend, op) != NULL;
}

const struct kernel *backend_kernel(const struct backend *backend, const struct op *op)
{
    const struct kernel *kernel = find(backend, op);

    return kernel || !backend->fallback ? kernel : find(backend->fallback, op);
}
