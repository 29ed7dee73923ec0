/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of the 1x1 convolution with one result at the end of a network: bound by memory, and of
 * a shape that no library has in mind. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include <string.h>

#include "trainer/backends/ref/chunks.h"
#include "trainer/backends/vector.h"

#define LANES 8
#define BLOCK 256 /* pixels whose sums are floats */
#define MAX_CHANNELS 256

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

static bool is_head(const struct op *op, const struct tensor *x, const struct tensor *y)
{
    return op->attr.kernel == 1 && op->attr.stride <= 1 && tensor_channels(y) == 1 &&
           tensor_channels(x) % LANES == 0 && tensor_channels(x) <= MAX_CHANNELS;
}

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
VECTOR_CLONES static void gather(const float *dy, const float *x, size_t npixels, size_t n,
                                 float *sum)
{
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

/* Workspace: [CHUNKS][channels + 1] sums, the last of dy alone. */
static int prepare_grad_weights(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = CHUNKS * (tensor_channels(op->in[1]) + 1) * sizeof(double);
    return 0;
}

static void sum_chunk(const float *dy, const float *x, size_t npixels, size_t n, double *sums)
{
    float part[MAX_CHANNELS];

    memset(sums, 0, (n + 1) * sizeof *sums);
    for (size_t p = 0; p < npixels; p += BLOCK) {
        size_t count = npixels - p < BLOCK ? npixels - p : BLOCK;

        gather(dy + p, x + p * n, count, n, part);
        for (size_t c = 0; c < n; c++)
            sums[c] += (double)part[c];
        for (size_t i = 0; i < count; i++)
            sums[n] += (double)dy[p + i];
    }
}

static int run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    size_t npixels = tensor_pixels(op->in[0]), n = tensor_channels(op->in[1]);
    const float *dy = op->in[0]->data, *src = op->in[1]->data;
    double *sums = op->workspace;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++) {
        size_t begin = chunk_begin(npixels, i);

        sum_chunk(dy + begin, src + begin * n, chunk_begin(npixels, i + 1) - begin, n,
                  sums + i * (n + 1));
    }
    for (size_t i = 1; i < CHUNKS; i++)
        for (size_t c = 0; c <= n; c++)
            sums[c] += sums[i * (n + 1) + c];
    for (size_t c = 0; c < n; c++)
        op->out[0]->data[c] = (float)sums[c];
    op->out[1]->data[0] = (float)sums[n];
    return 0;
}

static bool supports_grad_input(const struct op *op)
{
    return is_head(op, op->out[0], op->in[0]);
}

static bool supports_grad_weights(const struct op *op)
{
    return is_head(op, op->in[1], op->in[0]);
}

const struct kernel simd_conv2d_head_grad_input = {&conv2d_grad_input_kind, supports_grad_input,
                                                   NULL, run_grad_input, NULL};
const struct kernel simd_conv2d_head_grad_weights = {&conv2d_grad_weights_kind,
                                                     supports_grad_weights, prepare_grad_weights,
                                                     run_grad_weights, NULL};
