/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm, alone and folded into the weights of a convolution, and group norm. */
#include "src/base.h"
#include "trainer/backends/ref/ref.h"

#include <math.h>

/* Repeats values[nchannels] to the period. */
static inline void vector_repeat(float *values, size_t nchannels)
{
    for (size_t i = nchannels; i < vector_period(nchannels); i++)
        values[i] = values[i - nchannels];
}

/* Batch norm (Ioffe, Szegedy: Batch Normalization, 2015). With s = 1 / sqrt(var + eps), N pixels
 * (of all replicas with attr.sync), and sums over these:
 *
 *     y       = gamma s (x - mean) + beta
 *     dbeta   = sum dy          dgamma = s sum dy (x - mean)
 *     dx      = gamma s (dy - dbeta / N - s (x - mean) dgamma / N)
 *
 * With attr.sync each replica writes only its share of dbeta and dgamma; dx uses the whole sums. An
 * op of training makes two passes: sums per channel, then y = a x + c or dx = a dy + b x + c. */

/* Pixels that one thread takes at a time. */
#define BLOCK 1024

/* Coefficients of channels, repeated (ref.h). */
struct coefficients {
    float *a, *b, *c;
};

/* Workspace: what chunks_sum() needs, which begins with the sums; one double for the number of
 * pixels; the coefficients. */
static int ref_batch_norm_prepare(struct op *op, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]);

    op->workspace_size = (chunks_workspace(nchannels) + 1) * sizeof(double) +
                         3 * vector_period(nchannels) * sizeof(float);
    return 0;
}

static struct coefficients coefficients_of(const struct op *op)
{
    size_t nchannels = tensor_channels(op->in[0]), period = vector_period(nchannels);
    double *sums = op->workspace;
    float *a = (float *)(sums + chunks_workspace(nchannels) + 1);

    return (struct coefficients){a, a + period, a + 2 * period};
}

static void repeat(const struct coefficients *k, size_t nchannels)
{
    vector_repeat(k->a, nchannels);
    vector_repeat(k->b, nchannels);
    vector_repeat(k->c, nchannels);
}

int norm_sum_replicas(const struct op *op, struct exec *x, double *sums, struct err *e)
{
    size_t n = 2 * tensor_channels(op->in[0]);

    sums[n] = (double)tensor_pixels(op->in[0]);
    if (x->empty)
        memset(sums, 0, (n + 1) * sizeof *sums);
    return op->attr.sync && x->sum ? x->sum(x->sum_arg, sums, n + 1, e) : 0;
}

VECTOR_CLONES static void apply1(const float *src, size_t n, size_t period, const float *restrict a,
                                 const float *restrict b, float *dst)
{
    for (; n > 0; n -= n < period ? n : period, src += period, dst += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++)
            dst[i] = a[i] * src[i] + b[i];
}

VECTOR_CLONES static void apply2(const float *dy, const float *x, size_t n, size_t period,
                                 const float *restrict a, const float *restrict b,
                                 const float *restrict c, float *dx)
{
    for (; n > 0; n -= n < period ? n : period, dy += period, x += period, dx += period)
#pragma omp simd
        for (size_t i = 0; i < (n < period ? n : period); i++)
            dx[i] = a[i] * dy[i] + (b[i] * x[i] + c[i]);
}

/* dst = a u + c, or a u + b v + c if v is not NULL; dst may be u. */
static void apply(const struct coefficients *k, const float *u, const float *v, size_t npixels,
                  size_t nchannels, float *dst)
{
    size_t period = vector_period(nchannels);

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p += BLOCK) {
        size_t first = p * nchannels, n = (npixels - p < BLOCK ? npixels - p : BLOCK) * nchannels;

        if (v)
            apply2(u + first, v + first, n, period, k->a, k->b, k->c, dst + first);
        else
            apply1(u + first, n, period, k->a, k->c, dst + first);
    }
}

static void relu(const struct op *op)
{
    float *y = op->out[0]->data;
    size_t n = tensor_count(op->out[0]);

#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

void norm_finish_statistics(const struct op *op, const double *sums, float *a, float *shift)
{
    size_t nchannels = tensor_channels(op->in[0]);
    float *mean_out = op->out[1]->data, *scale_out = mean_out + nchannels;
    const float *gamma = op->in[1]->data, *beta = op->in[2]->data;
    float *running_mean = op->in[3]->data, *running_var = op->in[4]->data;
    double count = sums[2 * nchannels];
    double unbiased = count > 1 ? count / (count - 1) : 1;

    for (size_t c = 0; c < nchannels; c++) {
        double mean = sums[c] / count;
        double var = fmax(sums[nchannels + c] / count - mean * mean, 0);

        mean_out[c] = (float)mean;
        scale_out[c] = (float)(1 / sqrt(var + op->attr.eps));
        double momentum = op_is_fresh(running_mean[c], running_var[c]) ? 1 : op->attr.momentum;
        running_mean[c] = (float)((1 - momentum) * (double)running_mean[c] + momentum * mean);
        running_var[c] =
            (float)((1 - momentum) * (double)running_var[c] + momentum * var * unbiased);
        a[c] = gamma[c] * scale_out[c];
        shift[c] = beta[c] - mean_out[c] * a[c];
    }
}

void norm_running_map(const struct op *op, float *a, float *shift)
{
    const float *gamma = op->in[1]->data, *beta = op->in[2]->data;
    const float *mean = op->in[3]->data, *var = op->in[4]->data;

    for (size_t c = 0; c < tensor_channels(op->in[0]); c++) {
        a[c] = (float)((double)gamma[c] / sqrt((double)var[c] + op->attr.eps));
        shift[c] = beta[c] - mean[c] * a[c];
    }
}

static int ref_batch_norm_run(struct op *op, struct exec *x, struct err *e)
{
    size_t npixels = tensor_pixels(op->in[0]), nchannels = tensor_channels(op->in[0]);
    const float *src = op->in[0]->data;
    struct coefficients k = coefficients_of(op);
    double *sums = op->workspace;

    if (op->kind == &batch_norm_infer_kind) {
        norm_running_map(op, k.a, k.c);
    } else {
        chunks_sum(src, src, npixels, nchannels, sums);
        if (norm_sum_replicas(op, x, sums, e) < 0)
            return -1;
        norm_finish_statistics(op, sums, k.a, k.c);
    }
    repeat(&k, nchannels);
    apply(&k, src, NULL, npixels, nchannels, op->out[0]->data);
    if (op->kind == &batch_norm_relu_kind)
        relu(op);
    return 0;
}

/* The gradients of gamma and beta are this replica's share, which is summed over all replicas
 * later. */
static void finish_param_grads(const struct op *op, const double *sums)
{
    size_t nchannels = tensor_channels(op->in[0]);
    const float *mean = op->in[3]->data, *scale = mean + nchannels;
    float *dgamma = op->out[1]->data, *dbeta = op->out[2]->data;

    for (size_t c = 0; c < nchannels; c++) {
        dbeta[c] = (float)sums[c];
        dgamma[c] = (float)((sums[nchannels + c] - (double)mean[c] * sums[c]) * (double)scale[c]);
    }
}

/* Writes dst = dy where the norm's result, computed again from x, is positive, and 0 elsewhere. */
static void mask(const struct op *op, float *dst)
{
    const float *dy = op->in[0]->data, *x = op->in[1]->data, *gamma = op->in[2]->data;
    const float *beta = op->in[4]->data, *mean = op->in[3]->data;
    size_t n = tensor_channels(op->in[0]);

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < tensor_pixels(op->in[0]); p++)
        for (size_t k = 0; k < n; k++) {
            float a = gamma[k] * mean[n + k], c = beta[k] - mean[k] * a, d = dy[p * n + k];

            dst[p * n + k] = a * x[p * n + k] + c > 0 ? d : 0;
        }
}

/* Workspace: that of ref_batch_norm_prepare(), and with a ReLU the masked dy behind it. */
static int ref_batch_norm_prepare_grad(struct op *op, struct err *e)
{
    if (ref_batch_norm_prepare(op, e) < 0)
        return -1;
    if (op->kind == &batch_norm_relu_grad_kind)
        op->workspace_size += tensor_count(op->in[0]) * sizeof(float);
    return 0;
}

static int ref_batch_norm_run_grad(struct op *op, struct exec *x, struct err *e)
{
    size_t npixels = tensor_pixels(op->in[0]), nchannels = tensor_channels(op->in[0]);
    const float *dy = op->in[0]->data, *src = op->in[1]->data, *gamma = op->in[2]->data;
    const float *mean = op->in[3]->data, *scale = mean + nchannels;
    struct coefficients k = coefficients_of(op);
    double *sums = op->workspace;

    if (op->kind == &batch_norm_relu_grad_kind) {
        float *masked = k.c + vector_period(nchannels);

        mask(op, masked);
        dy = masked;
    }
    chunks_sum(dy, src, npixels, nchannels, sums);
    finish_param_grads(op, sums);
    if (norm_sum_replicas(op, x, sums, e) < 0)
        return -1;
    for (size_t c = 0; c < nchannels; c++) {
        double count = sums[2 * nchannels], s = (double)scale[c], m = (double)mean[c];
        double a = (double)gamma[c] * s;
        double b = -a * s * s * (sums[nchannels + c] - m * sums[c]) / count;

        k.a[c] = (float)a;
        k.b[c] = (float)b;
        k.c[c] = (float)(-a * sums[c] / count - b * m);
    }
    repeat(&k, nchannels);
    apply(&k, dy, src, npixels, nchannels, op->out[0]->data);
    return 0;
}

REF_KERNEL(batch_norm, ref_batch_norm_prepare, ref_batch_norm_run);
REF_KERNEL(batch_norm_relu, ref_batch_norm_prepare, ref_batch_norm_run);
REF_KERNEL(batch_norm_grad, ref_batch_norm_prepare_grad, ref_batch_norm_run_grad);
REF_KERNEL(batch_norm_relu_grad, ref_batch_norm_prepare_grad, ref_batch_norm_run_grad);
REF_KERNEL(batch_norm_infer, ref_batch_norm_prepare, ref_batch_norm_run);

/* Group norm. With s = 1 / sqrt(var + eps), M numbers in a group of an image, and sums over these:
 *
 *     y       = gamma s (x - mean) + beta
 *     dbeta   = sum dy          dgamma = sum s dy (x - mean), of a channel over all images
 *     dx      = s (gamma dy - sum gamma dy / M - s (x - mean) sum gamma s dy (x - mean) / M) */

/* Sets the mean and the scale of group i (counted over all images) from the sums of its n channels,
 * of `npixels` pixels: of x, and nchannels behind them of x^2. */
static void group_statistics(const struct op *op, size_t i, const double *sums, size_t nchannels,
                             size_t n, size_t npixels)
{
    size_t ngroups = tensor_count(op->out[1]) / 2;
    double count = (double)(n * npixels), first = 0, second = 0;

    for (size_t c = 0; c < n; c++) {
        first += sums[c];
        second += sums[nchannels + c];
    }
    double mean = first / count, var = fmax(second / count - mean * mean, 0);
    op->out[1]->data[i] = (float)mean;
    op->out[1]->data[ngroups + i] = (float)(1 / sqrt(var + op->attr.eps));
}

static int ref_group_norm_run(struct op *op, struct exec *x, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]), images = (size_t)op->in[0]->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(op->in[0]) / images, ngroups = tensor_count(op->out[1]) / 2;
    size_t n = nchannels * images / ngroups, line = npixels * nchannels;
    const float *gamma = op->in[1]->data, *beta = op->in[2]->data, *saved = op->out[1]->data;
    struct coefficients k = coefficients_of(op);
    double *sums = op->workspace;

    for (size_t i = 0; i < images; i++) {
        const float *src = op->in[0]->data + i * line;

        chunks_sum(src, src, npixels, nchannels, sums);
        for (size_t c = 0; c < nchannels; c++) {
            size_t group = i * (ngroups / images) + c / n;

            if (c % n == 0)
                group_statistics(op, group, sums + c, nchannels, n, npixels);
            k.a[c] = gamma[c] * saved[ngroups + group];
            k.c[c] = beta[c] - saved[group] * k.a[c];
        }
        repeat(&k, nchannels);
        apply(&k, src, NULL, npixels, nchannels, op->out[0]->data + i * line);
    }
    return 0;
}

/* Sets the coefficients of the n channels of a group, from the sums over its pixels: of dy, and
 * nchannels behind them of dy x; and adds to the gradients of gamma and beta. */
static void group_coefficients(const struct coefficients *k, const double *sums,
                               const float *gamma, double m, double s, size_t nchannels, size_t n,
                               size_t npixels, float *dgamma, float *dbeta)
{
    double count = (double)(n * npixels), first = 0, second = 0;

    for (size_t c = 0; c < n; c++) {
        double of_gamma = s * (sums[nchannels + c] - m * sums[c]);

        dbeta[c] += (float)sums[c];
        dgamma[c] += (float)of_gamma;
        first += (double)gamma[c] * sums[c];
        second += (double)gamma[c] * of_gamma;
    }
    double b = -s * s * second / count;
    for (size_t c = 0; c < n; c++) {
        k->a[c] = (float)((double)gamma[c] * s);
        k->b[c] = (float)b;
        k->c[c] = (float)(-s * first / count - b * m);
    }
}

static int ref_group_norm_run_grad(struct op *op, struct exec *x, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]), images = (size_t)op->in[0]->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(op->in[0]) / images, ngroups = tensor_count(op->in[3]) / 2;
    size_t n = nchannels * images / ngroups, line = npixels * nchannels;
    const float *saved = op->in[3]->data;
    float *dgamma = op->out[1]->data, *dbeta = op->out[2]->data;
    struct coefficients k = coefficients_of(op);
    double *sums = op->workspace;

    memset(dgamma, 0, nchannels * sizeof *dgamma);
    memset(dbeta, 0, nchannels * sizeof *dbeta);
    for (size_t i = 0; i < images; i++) {
        const float *dy = op->in[0]->data + i * line, *src = op->in[1]->data + i * line;

        chunks_sum(dy, src, npixels, nchannels, sums);
        for (size_t c = 0; c < nchannels; c += n) {
            size_t group = i * (ngroups / images) + c / n;
            struct coefficients part = {k.a + c, k.b + c, k.c + c};

            group_coefficients(&part, sums + c, op->in[2]->data + c, (double)saved[group],
                               (double)saved[ngroups + group], nchannels, n, npixels, dgamma + c,
                               dbeta + c);
        }
        repeat(&k, nchannels);
        apply(&k, dy, src, npixels, nchannels, op->out[0]->data + i * line);
    }
    return 0;
}

REF_KERNEL(group_norm, ref_batch_norm_prepare, ref_group_norm_run);
REF_KERNEL(group_norm_grad, ref_batch_norm_prepare, ref_group_norm_run_grad);

/* Weights and bias of a convolution that includes the batch norm (by running statistics) behind
 * it. */

#define MIN_SHARED (1 << 18) /* weights for which threads gain more than they cost to wake */

VECTOR_CLONES static void scale(const float *src, float factor, size_t n, float *dst)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = factor * src[i];
}

static int ref_fold_norm_run(struct op *op, struct exec *x, struct err *e)
{
    struct tensor *const *in = op->in;
    const float *gamma = in[1]->data, *beta = in[2]->data, *mean = in[3]->data, *var = in[4]->data;
    size_t nchannels = tensor_count(op->out[1]), window = tensor_count(in[0]) / nchannels;

#pragma omp parallel for schedule(static) if (nchannels * window > MIN_SHARED)
    for (size_t c = 0; c < nchannels; c++) {
        double factor = (double)gamma[c] / sqrt((double)var[c] + op->attr.eps);
        double b = in[5] ? (double)in[5]->data[c] : 0;

        scale(in[0]->data + c * window, (float)factor, window, op->out[0]->data + c * window);
        op->out[1]->data[c] = (float)((double)beta[c] + (b - (double)mean[c]) * factor);
    }
    return 0;
}

REF_KERNEL(fold_norm, NULL, ref_fold_norm_run);
