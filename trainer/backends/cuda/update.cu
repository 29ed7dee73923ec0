/* SPDX-License-Identifier: BSD-3-Clause */
/* The optimizer's step, one launch for all parameters; formulas in optim/optim.h. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

KERNEL(adam, device_adam)
{
    for (size_t i = gpu_index(); i < k.n; i += gpu_stride()) {
        float g = k.grad[i] + k.decay * k.value[i];

        k.m[i] += k.add1 * (g - k.m[i]);
        k.v[i] = k.keep2 * k.v[i] + k.add2 * g * g;
        k.value[i] = k.keep * k.value[i] - k.rate * k.m[i] / (sqrtf(k.v[i]) / k.root + k.eps);
    }
}

KERNEL(sgd, device_sgd)
{
    for (size_t i = gpu_index(); i < k.n; i += gpu_stride()) {
        float g = k.grad[i] + k.decay * k.value[i];

        k.v[i] = k.momentum * k.v[i] + g;
        k.value[i] -= k.rate * (k.nesterov ? g + k.look * k.v[i] : k.v[i]);
    }
}

C_BEGIN

void cuda_adam(struct device *d, const struct device_adam *a)
{
    LAUNCH(adam, gpu_blocks(a->n), d->stream, *a);
}

void cuda_sgd(struct device *d, const struct device_sgd *a)
{
    LAUNCH(sgd, gpu_blocks(a->n), d->stream, *a);
}

C_END
