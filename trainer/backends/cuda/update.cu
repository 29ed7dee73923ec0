/* SPDX-License-Identifier: BSD-3-Clause */
/* The optimizer's step, one launch for all parameters; formulas in optim/optim.h. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

DEVICE void step_adam(const struct device_adam k)
{
    for (size_t i = gpu_index(); i < k.n; i += gpu_stride()) {
        float g = k.grad[i] + k.decay * k.value[i];

        k.m[i] += k.add1 * (g - k.m[i]);
        k.v[i] = k.keep2 * k.v[i] + k.add2 * g * g;
        k.value[i] = k.keep * k.value[i] - k.rate * k.m[i] / (sqrtf(k.v[i]) / k.root + k.eps);
    }
}

DEVICE void step_sgd(const struct device_sgd k)
{
    for (size_t i = gpu_index(); i < k.n; i += gpu_stride()) {
        float g = k.grad[i] + k.decay * k.value[i];

        k.v[i] = k.momentum * k.v[i] + g;
        k.value[i] -= k.rate * (k.nesterov ? g + k.look * k.v[i] : k.v[i]);
    }
}

KERNEL(adam, device_adam)
{
    step_adam(k);
}

KERNEL(sgd, device_sgd)
{
    step_sgd(k);
}

/* The numbers are the run's. */
struct update_args {
    const struct device_update *update;
};

KERNEL(adam_of_run, update_args)
{
    step_adam(k.update->adam);
}

KERNEL(sgd_of_run, update_args)
{
    step_sgd(k.update->sgd);
}

struct square_args {
    const float *values;
    double *parts, *sum;
    size_t n;
    unsigned nparts;
};

KERNEL_BLOCK(square_parts, square_args)
{
    SHARED double scratch[GPU_BLOCK];
    double s = 0;

    for (size_t i = gpu_index(); i < k.n; i += gpu_stride())
        s += (double)k.values[i] * (double)k.values[i];
    s = gpu_block_sum(s, scratch);
    if (threadIdx.x == 0)
        k.parts[blockIdx.x] = s;
}

/* One block. */
KERNEL_BLOCK(square_total, square_args)
{
    SHARED double scratch[GPU_BLOCK];
    double s = 0;

    for (unsigned i = threadIdx.x; i < k.nparts; i += GPU_BLOCK)
        s += k.parts[i];
    s = gpu_block_sum(s, scratch);
    if (threadIdx.x == 0)
        *k.sum += s;
}

C_BEGIN

void cuda_update(struct device *d, const struct device_update *u)
{
    struct update_args k = {&d->scalars->update};

    if (u->kind == DEVICE_ADAM)
        LAUNCH(adam_of_run, gpu_blocks(u->adam.n), d->stream, k);
    else
        LAUNCH(sgd_of_run, gpu_blocks(u->sgd.n), d->stream, k);
}

void cuda_square(struct device *d, const float *values, size_t n, bool own)
{
    unsigned blocks = gpu_blocks(n);
    struct square_args k = {values, d->parts, own ? &d->scalars->own_square : &d->scalars->square, n,
                            blocks < CUDA_SQUARE_PARTS ? blocks : CUDA_SQUARE_PARTS};

    LAUNCH(square_parts, k.nparts, d->side, k);
    LAUNCH(square_total, 1, d->side, k);
}

void cuda_adam(struct device *d, const struct device_adam *a)
{
    LAUNCH(adam, gpu_blocks(a->n), d->stream, *a);
}

void cuda_sgd(struct device *d, const struct device_sgd *a)
{
    LAUNCH(sgd, gpu_blocks(a->n), d->stream, *a);
}

C_END
