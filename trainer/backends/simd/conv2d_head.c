/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of the 1x1 convolution with one result at the end of a network: bound by memory, and of
 * a shape that no library has in mind. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include "trainer/backends/simd/head.h"
#include "trainer/backends/vector.h"

#define LANES HEAD_LANES
#define BLOCK HEAD_BLOCK

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

/* dx[pixel][c] = dy[pixel] w[c] */
VECTOR_CLONES static void spread(const float *dy, size_t npixels, const float *w, size_t n,
                                 float *dx)
{
    for (size_t c = 0; c < n; c += LANES) {
        vec weight = *(const vec *)(w + c);

        for (size_t p = 0; p < npixels; p++)
            *(vec *)(dx + p * n + c) = dy[p] * weight;
    }
}

/* sum[c] = sum over pixels of dy[pixel] x[pixel][c] */
VECTOR_CLONES static void gather(const float *dy, const void *src, size_t npixels, size_t n,
                                 float *sum)
{
    const float *x = src;

    for (size_t c = 0; c < n; c += LANES) {
        vec a = {0}, b = {0};
        size_t p = 0;

        for (; p + 2 <= npixels; p += 2) {
            a += dy[p] * *(const vec *)(x + p * n + c);
            b += dy[p + 1] * *(const vec *)(x + (p + 1) * n + c);
        }
        if (p < npixels)
            a += dy[p] * *(const vec *)(x + p * n + c);
        *(vec *)(sum + c) = a + b;
    }
}

static int run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    size_t npixels = tensor_pixels(op->in[0]), n = tensor_channels(op->out[0]);
    const float *dy = op->in[0]->data;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p += BLOCK)
        spread(dy + p, npixels - p < BLOCK ? npixels - p : BLOCK, op->in[1]->data, n,
               op->out[0]->data + p * n);
    return 0;
}

static int run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    head_grad_weights(op, gather);
    return 0;
}

static bool supports_grad_input(const struct op *op)
{
    return head_supports(op, op->out[0], op->in[0]);
}

static bool supports_grad_weights(const struct op *op)
{
    return head_supports(op, op->in[1], op->in[0]);
}

const struct kernel simd_conv2d_head_grad_input = {&conv2d_grad_input_kind, supports_grad_input,
                                                   NULL, run_grad_input, NULL};
const struct kernel simd_conv2d_head_grad_weights = {&conv2d_grad_weights_kind,
                                                     supports_grad_weights, head_prepare,
                                                     run_grad_weights, NULL};
