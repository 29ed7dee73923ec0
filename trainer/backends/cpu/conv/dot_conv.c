/* SPDX-License-Identifier: BSD-3-Clause */
/* 1x1 convolutions to one channel, such as the last one of a network with one logit for each pixel:
 * a dot product for each pixel, which is bound by memory. direct_conv.c would fill the lanes of its
 * vectors with pixels and multiply mostly by zeros. */
#include "config.h"
#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/backends/cpu/isa/simd.h"

#define BLOCK 1024 /* pixels of a task */
#define LANES 8
#ifdef __x86_64__
#define ISA __attribute__((target("avx2,fma")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/isa/vec_isa.inc"

/* Returns the sums of eight vectors, each in a lane of its own. */
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

/* y[pixel] = bias + sum over c of x[pixel][c] w[c] */
ISA static void dot_pixels(const float *x, size_t npixels, const float *w, size_t nchannels,
                           float bias, float *y)
{
    size_t p = 0;

    for (; p + LANES <= npixels; p += LANES) {
        vec v[LANES] = {0};

        for (size_t c = 0; c < nchannels; c += LANES)
#pragma GCC unroll 8
            for (size_t i = 0; i < LANES; i++)
                v[i] += load(x + (p + i) * nchannels + c) * load(w + c);
        store(y + p, sum_each(v) + bias);
    }
    for (; p < npixels; p++) {
        y[p] = bias;
        for (size_t c = 0; c < nchannels; c++)
            y[p] += x[p * nchannels + c] * w[c];
    }
}

static bool dot_conv_supports(const struct op *op)
{
    return simd_isa() >= SIMD_AVX2 && op->attr.kernel == 1 && op->attr.stride <= 1 &&
           tensor_channels(op->out[0]) == 1 && tensor_channels(op->in[0]) % LANES == 0;
}

static int dot_conv_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    size_t npixels = tensor_pixels(src), n = tensor_channels(src);
    float bias = op->in[2] ? op->in[2]->data[0] : 0;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < npixels; i += BLOCK)
        dot_pixels(src->data + i * n, simd_min(npixels - i, BLOCK), op->in[1]->data, n, bias,
                   op->out[0]->data + i);
    return 0;
}

const struct kernel simd_dot_conv2d = {
    .kind = &conv2d_kind, .supports = dot_conv_supports, .run = dot_conv_run};
