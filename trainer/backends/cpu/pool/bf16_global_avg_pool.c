/* SPDX-License-Identifier: BSD-3-Clause */
/* The mean over all pixels of an image in bf16, and its gradient. */
#include "config.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/pool/pool_kernels.h"

#include "trainer/backends/cpu/isa/bf16.h"

#define LANES 8
#ifdef __x86_64__
#define ISA __attribute__((target("avx2")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/isa/bf16_isa.inc"

/* Writes the means of LANES channels over the pixels of one image. One thread does it, so that the
 * order of the sum does not depend on the number of threads. */
ISA static void sum_pixels(const uint16_t *src, size_t npixels, size_t n, uint16_t *dst)
{
    vec sum = {0};

    for (size_t p = 0; p < npixels; p++)
        sum += load_numbers(src + p * n);
    store_numbers(dst, sum / (float)npixels);
}

ISA static void spread_pixels(const uint16_t *dy, size_t npixels, size_t n, uint16_t *dx)
{
    for (size_t c = 0; c < n; c += LANES) {
        vec d = load_numbers(dy + c) / (float)npixels;

        for (size_t p = 0; p < npixels; p++)
            store_numbers(dx + p * n + c, d);
    }
}

static int bf16_global_avg_pool_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    size_t nc = tensor_channels(src), n = (size_t)src->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(src) / n;

    (void)x;
    (void)e;
#pragma omp parallel for collapse(2) schedule(static)
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < nc; c += LANES)
            sum_pixels(src->half + i * npixels * nc + c, npixels, nc,
                       op->out[0]->half + i * nc + c);
    return 0;
}

static int bf16_global_avg_pool_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dx = op->out[0];
    size_t nc = tensor_channels(dx), n = (size_t)dx->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(dx) / n;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        spread_pixels(op->in[0]->half + i * nc, npixels, nc, dx->half + i * npixels * nc);
    return 0;
}

static bool bf16_global_avg_pool_supports(const struct op *op)
{
    return simd_isa() >= SIMD_AVX2 && bf16_all(op) && tensor_channels(op->in[0]) % LANES == 0;
}

const struct kernel simd_bf16_global_avg_pool = {
    .kind = &global_avg_pool_kind, .supports = bf16_global_avg_pool_supports,
    .run = bf16_global_avg_pool_run, .types = KERNEL_HALVES};
const struct kernel simd_bf16_global_avg_pool_grad = {
    .kind = &global_avg_pool_grad_kind, .supports = bf16_global_avg_pool_supports,
    .run = bf16_global_avg_pool_run_grad, .types = KERNEL_HALVES};
