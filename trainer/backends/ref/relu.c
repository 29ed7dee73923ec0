/* SPDX-License-Identifier: BSD-3-Clause */
/* ReLU and its gradient. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include "trainer/backends/ref/vector.h"

/* Values that one thread takes at a time. */
#define BLOCK 8192

VECTOR_CLONES static void relu(const float *src, size_t n, float *dst)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = src[i] > 0 ? src[i] : 0;
}

/* dy is always read, because the branch predictor cannot predict the sign of y. */
VECTOR_CLONES static void relu_grad(const float *dy, const float *y, size_t n, float *dx)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float d = dy[i];

        dx[i] = y[i] > 0 ? d : 0;
    }
}

static int ref_relu_run(struct op *op, struct exec *x, struct err *e)
{
    const float *src = op->in[0]->data;
    float *dst = op->out[0]->data;
    size_t n = tensor_count(op->out[0]);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i += BLOCK)
        relu(src + i, n - i < BLOCK ? n - i : BLOCK, dst + i);
    return 0;
}

static int ref_relu_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const float *dy = op->in[0]->data, *y = op->in[1]->data;
    float *dx = op->out[0]->data;
    size_t n = tensor_count(op->out[0]);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i += BLOCK)
        relu_grad(dy + i, y + i, n - i < BLOCK ? n - i : BLOCK, dx + i);
    return 0;
}

const struct kernel ref_relu = {.kind = &relu_kind, .run = ref_relu_run};
const struct kernel ref_relu_grad = {.kind = &relu_grad_kind, .run = ref_relu_run_grad};
