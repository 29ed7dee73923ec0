/* SPDX-License-Identifier: BSD-3-Clause */
/* The 1x1 convolution with one result at the end of a network, from activations in bf16 to logits of
 * floats, and its gradients: bound by memory. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include "trainer/backends/simd/half.h"
#include "trainer/backends/simd/head.h"

#define LANES HEAD_LANES
#ifdef __x86_64__
#define ISA __attribute__((target("avx2,fma")))
#else
#define ISA
#endif
#include "trainer/backends/simd/half_isa.inc"

#define BLOCK HEAD_BLOCK

static bool is_head(const struct op *op, const struct tensor *x, const struct tensor *y)
{
    return simd_isa() >= SIMD_AVX2 && x->dtype == DTYPE_BF16 && y->dtype == DTYPE_F32 &&
           head_supports(op, x, y);
}

/* Of each of eight vectors the sum, in a lane of its own. */
INLINE vec sum_each(vec *v)
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        v[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(v[2 * i], v[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        v[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(v[2 * i], v[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(v[0], v[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

/* y[pixel] = bias + sum over c of x[pixel][c] w[c], LANES pixels */
INLINE vec dot_pixels(const uint16_t *x, const float *w, size_t n, float bias)
{
    vec v[LANES];

#pragma GCC unroll 8
    for (size_t p = 0; p < LANES; p++)
        v[p] = load_numbers(x + p * n) * load(w);
    for (size_t c = LANES; c < n; c += LANES)
#pragma GCC unroll 8
        for (size_t p = 0; p < LANES; p++)
            v[p] += load_numbers(x + p * n + c) * load(w + c);
    return sum_each(v) + bias;
}

ISA static void dot(const uint16_t *x, size_t npixels, const float *w, size_t n, float bias, float *y)
{
    size_t p = 0;

    for (; p + LANES <= npixels; p += LANES)
        store(y + p, dot_pixels(x + p * n, w, n, bias));
    for (; p < npixels; p++) {
        y[p] = bias;
        for (size_t c = 0; c < n; c++)
            y[p] += half_widen(x[p * n + c]) * w[c];
    }
}

/* dx[pixel][c] = dy[pixel] w[c] */
ISA static void spread(const float *dy, size_t npixels, const float *w, size_t n, uint16_t *dx)
{
    for (size_t c = 0; c < n; c += LANES) {
        vec weight = load(w + c);

        for (size_t p = 0; p < npixels; p++)
            store_numbers(dx + p * n + c, dy[p] * weight);
    }
}

/* sum[c] = sum over pixels of dy[pixel] x[pixel][c] */
ISA static void gather(const float *dy, const void *src, size_t npixels, size_t n, float *sum)
{
    const uint16_t *x = src;

    for (size_t c = 0; c < n; c += LANES) {
        vec a = {0}, b = {0};
        size_t p = 0;

        for (; p + 2 <= npixels; p += 2) {
            a += dy[p] * load_numbers(x + p * n + c);
            b += dy[p + 1] * load_numbers(x + (p + 1) * n + c);
        }
        if (p < npixels)
            a += dy[p] * load_numbers(x + p * n + c);
        store(sum + c, a + b);
    }
}

static int run_forward(struct op *op, struct exec *x, struct err *e)
{
    size_t npixels = tensor_pixels(op->in[0]), n = tensor_channels(op->in[0]);

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p += BLOCK)
        dot(op->in[0]->half + p * n, npixels - p < BLOCK ? npixels - p : BLOCK, op->in[1]->data, n,
            op->in[2]->data[0], op->out[0]->data + p);
    return 0;
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
               op->out[0]->half + p * n);
    return 0;
}

static int run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    head_grad_weights(op, gather);
    return 0;
}

static bool supports_forward(const struct op *op)
{
    return is_head(op, op->in[0], op->out[0]);
}

static bool supports_grad_input(const struct op *op)
{
    return is_head(op, op->out[0], op->in[0]);
}

static bool supports_grad_weights(const struct op *op)
{
    return is_head(op, op->in[1], op->in[0]);
}

const struct kernel simd_half_head = {&conv2d_kind, supports_forward, NULL, run_forward, NULL};
const struct kernel simd_half_head_grad_input = {&conv2d_grad_input_kind, supports_grad_input, NULL,
                                                 run_grad_input, NULL};
const struct kernel simd_half_head_grad_weights = {&conv2d_grad_weights_kind, supports_grad_weights,
                                                   head_prepare, run_grad_weights, NULL};
