/* SPDX-License-Identifier: BSD-3-Clause */
/* The sum of two tensors; and the ReLU of the sum of a norm's result, from coefficients, and a
 * tensor. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <string.h>

#include "trainer/backends/ref/vector.h"

#define BLOCK 1024 /* pixels that one thread takes at a time */

static int ref_add_run(struct op *op, struct exec *x, struct err *e)
{
    const float *a = op->in[0]->data, *b = op->in[1]->data;
    float *dst = op->out[0]->data;
    size_t n = tensor_count(op->out[0]);

#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++)
        dst[i] = a[i] + b[i];
    return 0;
}

/* Workspace: the coefficients, repeated (vector.h). */
static int ref_add_prepare(struct op *op, struct err *e)
{
    op->workspace_size = 2 * vector_period(tensor_channels(op->in[0])) * sizeof(float);
    return 0;
}

VECTOR_CLONES static void apply(const float *x, const float *shortcut, size_t n, size_t period,
                                const float *restrict a, const float *restrict b, float *y)
{
    for (; n > 0; n -= n < period ? n : period, x += period, shortcut += period, y += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++) {
            float sum = a[i] * x[i] + b[i] + shortcut[i];

            y[i] = sum > 0 ? sum : 0;
        }
}

static int ref_add_run_norm_relu(struct op *op, struct exec *x, struct err *e)
{
    size_t n = tensor_channels(op->in[0]), period = vector_period(n);
    size_t npixels = tensor_pixels(op->in[0]);
    const float *src = op->in[0]->data, *shortcut = op->in[1]->data;
    float *a = op->workspace, *b = a + period, *dst = op->out[0]->data;

    memcpy(a, op->in[OP_NORM_SCALE_SHIFT]->data, n * sizeof *a);
    memcpy(b, op->in[OP_NORM_SCALE_SHIFT]->data + n, n * sizeof *b);
    vector_repeat(a, n);
    vector_repeat(b, n);
#pragma omp parallel for schedule(static)
    for (size_t at = 0; at < npixels; at += BLOCK)
        apply(src + at * n, shortcut + at * n, (npixels - at < BLOCK ? npixels - at : BLOCK) * n,
              period, a, b, dst + at * n);
    return 0;
}

const struct kernel ref_add = {.kind = &add_kind, .run = ref_add_run};
const struct kernel ref_norm_add_relu = {
    .kind = &add_kind, .prepare = ref_add_prepare, .run = ref_add_run_norm_relu,
    .requires = OP_HAS_NORM_SCALE_SHIFT | OP_RELU};
