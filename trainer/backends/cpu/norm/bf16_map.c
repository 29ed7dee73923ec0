/* SPDX-License-Identifier: BSD-3-Clause */
/* Element-wise ops of bf16. For the ReLU no conversion is needed: a positive value is also a
 * positive integer. */
#include "config.h"
#include "trainer/backends/cpu/norm/norm_kernels.h"

#include "trainer/backends/cpu/isa/bf16.h"
#include "trainer/backends/ref/vector.h"

/* b is not read by ops of one input. */
typedef void map_f(const uint16_t *a, const uint16_t *b, size_t n, uint16_t *dst);

VECTOR_CLONES static void relu(const uint16_t *src, const uint16_t *b, size_t n, uint16_t *dst)
{
    (void)b;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = (int16_t)src[i] > 0 ? src[i] : 0;
}

VECTOR_CLONES static void relu_grad(const uint16_t *dy, const uint16_t *y, size_t n, uint16_t *dx)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        uint16_t d = dy[i];

        dx[i] = (int16_t)y[i] > 0 ? d : 0;
    }
}

VECTOR_CLONES static void add(const uint16_t *a, const uint16_t *b, size_t n, uint16_t *dst)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = bf16_from_float(bf16_to_float(a[i]) + bf16_to_float(b[i]));
}

static void map(const struct op *op, map_f *f)
{
    const uint16_t *a = op->in[0]->half, *b = op->in[op->in[1] ? 1 : 0]->half;
    uint16_t *dst = op->out[0]->half;
    size_t n = tensor_count(op->out[0]);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i += BF16_BLOCK)
        f(a + i, b + i, n - i < BF16_BLOCK ? n - i : BF16_BLOCK, dst + i);
}

static int bf16_map_run_relu(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    map(op, relu);
    return 0;
}

static int bf16_map_run_relu_grad(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    map(op, relu_grad);
    return 0;
}

static int bf16_map_run_add(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    map(op, add);
    return 0;
}

const struct kernel simd_bf16_relu = {
    .kind = &relu_kind, .supports = bf16_all, .run = bf16_map_run_relu, .types = KERNEL_HALVES};
const struct kernel simd_bf16_relu_grad = {
    .kind = &relu_grad_kind, .supports = bf16_all, .run = bf16_map_run_relu_grad,
    .types = KERNEL_HALVES};
const struct kernel simd_bf16_add = {
    .kind = &add_kind, .supports = bf16_all, .run = bf16_map_run_add, .types = KERNEL_HALVES};
