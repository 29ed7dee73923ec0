/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm alone and with the ReLU behind it; the formulas are those of the reference kernel.
 *
 * All of it is bound by memory, so passes count: statistics read x once, the result reads x and
 * writes y; the gradient reads dy and x for the sums and again for dx. Where the ReLU is part of it
 * whether it let a value through is computed again from x, so that y is not read. Sums of short
 * blocks are floats, of differences to a value nearby (the first pixel's, or the mean), so that
 * nothing is lost; the blocks' sums are doubles. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include <math.h>
#include <string.h>

#include "trainer/backends/ref/chunks.h"
#include "trainer/backends/vector.h"

#define BLOCK_ROWS 64   /* periods of values that are added up as floats */
#define PIXELS 1024     /* that one thread takes at a time */
#define MAX_PERIOD 2048 /* sums that fit the stack */

/* Workspace: sums of all replicas, [2C + 1] doubles; sums of each chunk, [CHUNKS][2C] doubles;
 * values per channel, repeated (vector.h), PER_CHANNEL times a period of floats. */
enum { A, B, C, SHIFT, PER_CHANNEL };

struct work {
    double *sums, *chunks;
    float *k[PER_CHANNEL];
};

static bool has_relu(const struct op *op)
{
    return op->kind == &batch_norm_relu_kind || op->kind == &batch_norm_relu_grad_kind ||
           op->kind == &batch_norm_relu_infer_kind;
}

static size_t count_doubles(size_t nchannels)
{
    return 2 * nchannels + 2 + (size_t)CHUNKS * 2 * nchannels;
}

static int prepare(struct op *op, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]);

    (void)e;
    op->workspace_size = count_doubles(nchannels) * sizeof(double) +
                         PER_CHANNEL * vector_period(nchannels) * sizeof(float);
    return 0;
}

static struct work work_of(const struct op *op)
{
    size_t nchannels = tensor_channels(op->in[0]);
    struct work w = {.sums = op->workspace};

    w.chunks = w.sums + 2 * nchannels + 2;
    w.k[0] = (float *)(w.sums + count_doubles(nchannels));
    for (size_t i = 1; i < PER_CHANNEL; i++)
        w.k[i] = w.k[i - 1] + vector_period(nchannels);
    return w;
}

static void repeat(const struct work *w, size_t nchannels)
{
    for (size_t i = 0; i < PER_CHANNEL; i++)
        vector_repeat(w->k[i], nchannels);
}

/* sum[i] += x - shift, squares[i] += (x - shift)^2 */
VECTOR_CLONES static void sum_squares(const float *x, size_t n, size_t period,
                                      const float *restrict shift, float *restrict sum,
                                      float *restrict squares)
{
    for (; n > 0; n -= n < period ? n : period, x += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++) {
            float d = x[i] - shift[i];

            sum[i] += d;
            squares[i] += d * d;
        }
}

/* sum[i] += d, products[i] += d (x - shift), with d = dy */
VECTOR_CLONES static void sum_products(const float *dy, const float *x, size_t n, size_t period,
                                       const float *restrict shift, float *restrict sum,
                                       float *restrict products)
{
    for (; n > 0; n -= n < period ? n : period, x += period, dy += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++) {
            sum[i] += dy[i];
            products[i] += dy[i] * (x[i] - shift[i]);
        }
}

/* The same with d = dy where a x + c > 0, else 0. */
VECTOR_CLONES static void sum_relu_products(const float *dy, const float *x, size_t n,
                                            size_t period, const float *restrict a,
                                            const float *restrict c, const float *restrict shift,
                                            float *restrict sum, float *restrict products)
{
    for (; n > 0; n -= n < period ? n : period, x += period, dy += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++) {
            float v = dy[i], d = a[i] * x[i] + c[i] > 0 ? v : 0;

            sum[i] += d;
            products[i] += d * (x[i] - shift[i]);
        }
}

/* Both sums of a range of pixels, into total[2][C]. dy NULL: of x and its square. */
static void sum_pixels(const struct work *w, const float *dy, const float *x, size_t npixels,
                       size_t nchannels, bool relu, double *total)
{
    size_t period = vector_period(nchannels), n = npixels * nchannels;
    float part[2 * MAX_PERIOD], *sum = part, *second = part + period;

    memset(total, 0, 2 * nchannels * sizeof *total);
    for (size_t at = 0; at < n; at += BLOCK_ROWS * period) {
        size_t count = n - at < BLOCK_ROWS * period ? n - at : BLOCK_ROWS * period;

        memset(part, 0, 2 * period * sizeof *part);
        if (!dy)
            sum_squares(x + at, count, period, w->k[SHIFT], sum, second);
        else if (relu)
            sum_relu_products(dy + at, x + at, count, period, w->k[A], w->k[C], w->k[SHIFT], sum,
                              second);
        else
            sum_products(dy + at, x + at, count, period, w->k[SHIFT], sum, second);
        for (size_t i = 0; i < 2 * period; i++)
            total[i / period * nchannels + i % period % nchannels] += (double)part[i];
    }
}

static void sum_all(const struct op *op, const struct work *w, const float *dy, const float *x)
{
    size_t npixels = tensor_pixels(op->in[0]), nchannels = tensor_channels(op->in[0]);
    bool relu = has_relu(op);

#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < CHUNKS; i++) {
        size_t begin = chunk_begin(npixels, i), end = chunk_begin(npixels, i + 1);

        sum_pixels(w, dy ? dy + begin * nchannels : NULL, x + begin * nchannels, end - begin,
                   nchannels, relu, w->chunks + i * 2 * nchannels);
    }
    memset(w->sums, 0, 2 * nchannels * sizeof *w->sums);
    for (size_t i = 0; i < CHUNKS; i++)
        for (size_t c = 0; c < 2 * nchannels; c++)
            w->sums[c] += w->chunks[i * 2 * nchannels + c];
}

/* sums[2C + 1]: two sums per channel and the number of pixels, of this replica, then of all */
static int sum_over_replicas(const struct op *op, struct exec *x, double *sums, struct err *e)
{
    size_t n = 2 * tensor_channels(op->in[0]);

    sums[n] = (double)tensor_pixels(op->in[0]);
    return op->attr.sync && x->sum ? x->sum(x->sum_arg, sums, n + 1, e) : 0;
}

VECTOR_CLONES static void apply_linear(const float *src, size_t n, size_t period,
                                       const float *restrict a, const float *restrict c, float *dst)
{
    for (; n > 0; n -= n < period ? n : period, src += period, dst += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++)
            dst[i] = a[i] * src[i] + c[i];
}

VECTOR_CLONES static void apply_relu(const float *src, size_t n, size_t period,
                                     const float *restrict a, const float *restrict c, float *dst)
{
    for (; n > 0; n -= n < period ? n : period, src += period, dst += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++) {
            float y = a[i] * src[i] + c[i];

            dst[i] = y > 0 ? y : 0;
        }
}

/* y = a x + c */
static void apply(const struct op *op, const struct work *w)
{
    size_t npixels = tensor_pixels(op->in[0]), nchannels = tensor_channels(op->in[0]);
    size_t period = vector_period(nchannels);
    const float *src = op->in[0]->data;
    float *dst = op->out[0]->data;
    bool relu = has_relu(op);

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p += PIXELS) {
        size_t first = p * nchannels, n = (npixels - p < PIXELS ? npixels - p : PIXELS) * nchannels;

        (relu ? apply_relu : apply_linear)(src + first, n, period, w->k[A], w->k[C], dst + first);
    }
}

/* gradient: dx = scale d + (b x + shift), d as above */
VECTOR_CLONES static void gradient_linear(const float *dy, const float *x, size_t n, size_t period,
                                          const float *restrict scale, const float *restrict b,
                                          const float *restrict shift, float *dx)
{
    for (; n > 0; n -= n < period ? n : period, dy += period, x += period, dx += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++)
            dx[i] = scale[i] * dy[i] + (b[i] * x[i] + shift[i]);
}

/* scale is a */
VECTOR_CLONES static void gradient_relu(const float *dy, const float *x, size_t n, size_t period,
                                        const float *restrict a, const float *restrict c,
                                        const float *restrict b, const float *restrict shift,
                                        float *dx)
{
    for (; n > 0; n -= n < period ? n : period, dy += period, x += period, dx += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++) {
            float v = dy[i], d = a[i] * x[i] + c[i] > 0 ? v : 0;

            dx[i] = a[i] * d + (b[i] * x[i] + shift[i]);
        }
}

static void apply_gradient(const struct op *op, const struct work *w)
{
    size_t npixels = tensor_pixels(op->in[0]), nchannels = tensor_channels(op->in[0]);
    size_t period = vector_period(nchannels);
    const float *dy = op->in[0]->data, *x = op->in[1]->data;
    float *dx = op->out[0]->data;
    bool relu = has_relu(op);

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p += PIXELS) {
        size_t first = p * nchannels, n = (npixels - p < PIXELS ? npixels - p : PIXELS) * nchannels;

        if (relu)
            gradient_relu(dy + first, x + first, n, period, w->k[A], w->k[C], w->k[B],
                          w->k[SHIFT], dx + first);
        else
            gradient_linear(dy + first, x + first, n, period, w->k[A], w->k[B], w->k[SHIFT],
                            dx + first);
    }
}

/* From sums of x - shift to sums of x, which replicas can add up. */
static void remove_shift(const struct op *op, const struct work *w)
{
    size_t nchannels = tensor_channels(op->in[0]);
    double count = (double)tensor_pixels(op->in[0]);

    for (size_t c = 0; c < nchannels; c++) {
        double shift = (double)w->k[SHIFT][c], sum = w->sums[c];

        w->sums[c] = sum + count * shift;
        w->sums[nchannels + c] += 2 * shift * sum + count * shift * shift;
    }
}

/* Mean and scale from the sums; the running statistics move on. */
static void finish_statistics(const struct op *op, const struct work *w)
{
    size_t nchannels = tensor_channels(op->in[0]);
    float *mean_out = op->out[1]->data, *scale_out = mean_out + nchannels;
    const float *gamma = op->in[1]->data, *beta = op->in[2]->data;
    float *running_mean = op->in[3]->data, *running_var = op->in[4]->data;
    double count = w->sums[2 * nchannels], momentum = op->attr.momentum;
    double unbiased = count > 1 ? count / (count - 1) : 1;

    for (size_t c = 0; c < nchannels; c++) {
        double mean = w->sums[c] / count;
        double var = fmax(w->sums[nchannels + c] / count - mean * mean, 0);

        mean_out[c] = (float)mean;
        scale_out[c] = (float)(1 / sqrt(var + op->attr.eps));
        running_mean[c] = (float)((1 - momentum) * (double)running_mean[c] + momentum * mean);
        running_var[c] =
            (float)((1 - momentum) * (double)running_var[c] + momentum * var * unbiased);
        w->k[A][c] = gamma[c] * scale_out[c];
        w->k[C][c] = beta[c] - mean_out[c] * w->k[A][c];
    }
}

static int run_batch_norm(struct op *op, struct exec *x, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]);
    struct work w = work_of(op);

    memcpy(w.k[SHIFT], op->in[0]->data, nchannels * sizeof(float));
    vector_repeat(w.k[SHIFT], nchannels);
    sum_all(op, &w, NULL, op->in[0]->data);
    remove_shift(op, &w);
    if (sum_over_replicas(op, x, w.sums, e) < 0)
        return -1;
    finish_statistics(op, &w);
    repeat(&w, nchannels);
    apply(op, &w);
    return 0;
}

static int run_infer(struct op *op, struct exec *x, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]);
    const float *gamma = op->in[1]->data, *beta = op->in[2]->data;
    const float *mean = op->in[3]->data, *var = op->in[4]->data;
    struct work w = work_of(op);

    (void)x;
    (void)e;
    for (size_t c = 0; c < nchannels; c++) {
        w.k[A][c] = (float)((double)gamma[c] / sqrt((double)var[c] + op->attr.eps));
        w.k[C][c] = beta[c] - mean[c] * w.k[A][c];
    }
    repeat(&w, nchannels);
    apply(op, &w);
    return 0;
}

/* (dy, x, gamma, saved), and beta where the ReLU is part of it */
static int run_grad(struct op *op, struct exec *x, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]);
    const float *gamma = op->in[2]->data, *mean = op->in[3]->data, *scale = mean + nchannels;
    float *dgamma = op->out[1]->data, *dbeta = op->out[2]->data;
    struct work w = work_of(op);

    for (size_t c = 0; c < nchannels; c++) {
        w.k[A][c] = gamma[c] * scale[c];
        w.k[C][c] = has_relu(op) ? op->in[4]->data[c] - mean[c] * w.k[A][c] : 0;
        w.k[B][c] = 0;
        w.k[SHIFT][c] = mean[c];
    }
    repeat(&w, nchannels);
    sum_all(op, &w, op->in[0]->data, op->in[1]->data);
    for (size_t c = 0; c < nchannels; c++) {
        dbeta[c] = (float)w.sums[c]; /* this replica's share: they are summed with all others */
        dgamma[c] = (float)(w.sums[nchannels + c] * (double)scale[c]);
    }
    if (sum_over_replicas(op, x, w.sums, e) < 0)
        return -1;
    for (size_t c = 0; c < nchannels; c++) {
        double count = w.sums[2 * nchannels], s = (double)scale[c], a = (double)gamma[c] * s;
        double b = -a * s * s * w.sums[nchannels + c] / count;

        w.k[B][c] = (float)b;
        w.k[SHIFT][c] = (float)(-a * w.sums[c] / count - b * (double)mean[c]);
    }
    repeat(&w, nchannels);
    apply_gradient(op, &w);
    return 0;
}

/* The blocks' sums stand on the stack. */
static bool supports(const struct op *op)
{
    return vector_period(tensor_channels(op->in[0])) <= MAX_PERIOD;
}

const struct kernel simd_batch_norm = {&batch_norm_kind, supports, prepare, run_batch_norm, NULL};
const struct kernel simd_batch_norm_relu = {&batch_norm_relu_kind, supports, prepare,
                                            run_batch_norm, NULL};
const struct kernel simd_batch_norm_grad = {&batch_norm_grad_kind, supports, prepare, run_grad,
                                            NULL};
const struct kernel simd_batch_norm_relu_grad = {&batch_norm_relu_grad_kind, supports, prepare,
                                                 run_grad, NULL};
const struct kernel simd_batch_norm_infer = {&batch_norm_infer_kind, supports, prepare, run_infer,
                                             NULL};
const struct kernel simd_batch_norm_relu_infer = {&batch_norm_relu_infer_kind, supports, prepare,
                                                  run_infer, NULL};
