/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm, alone and with the ReLU behind it. The formulas are those of ref/batch_norm.c; once
 * the statistics are known they are y = a x + c with coefficients of each channel. */
#include "config.h"
#include "trainer/backends/cpu/norm/norm_work.h"

#include <math.h>
#include <string.h>

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/norm/norm_kernels.h"

/* Converts sums of x - shift and of its square to sums of x and x^2, which replicas can add up. */
static void remove_shift(const struct op *op, const struct norm_work *w)
{
    size_t nchannels = tensor_channels(op->in[0]);
    double count = (double)tensor_pixels(op->in[0]);

    for (size_t c = 0; c < nchannels; c++) {
        double shift = (double)w->k[NORM_WORK_SHIFT][c], sum = w->sums[c];

        w->sums[c] = sum + count * shift;
        w->sums[nchannels + c] += 2 * shift * sum + count * shift * shift;
    }
}

static void batch_norm_finish_statistics(const struct op *op, const struct norm_work *w)
{
    size_t nchannels = tensor_channels(op->in[0]);
    float *mean_out = op->out[1]->data, *scale_out = mean_out + nchannels;
    const float *gamma = op->in[1]->data, *beta = op->in[2]->data;
    float *running_mean = op->in[3]->data, *running_var = op->in[4]->data;
    double count = w->sums[2 * nchannels];
    double unbiased = count > 1 ? count / (count - 1) : 1;

    for (size_t c = 0; c < nchannels; c++) {
        double mean = w->sums[c] / count;
        double var = fmax(w->sums[nchannels + c] / count - mean * mean, 0);

        mean_out[c] = (float)mean;
        scale_out[c] = (float)(1 / sqrt(var + op->attr.eps));
        double momentum = op_is_fresh(running_mean[c], running_var[c]) ? 1 : op->attr.momentum;
        running_mean[c] = (float)((1 - momentum) * (double)running_mean[c] + momentum * mean);
        running_var[c] =
            (float)((1 - momentum) * (double)running_var[c] + momentum * var * unbiased);
        w->k[NORM_WORK_A][c] = gamma[c] * scale_out[c];
        w->k[NORM_WORK_C][c] = beta[c] - mean_out[c] * w->k[NORM_WORK_A][c];
    }
}

static int find_statistics(const struct op *op, struct exec *x, const struct norm_work *w,
                           struct err *e)
{
    memcpy(w->k[NORM_WORK_SHIFT], op->in[0]->data, w->plan->nchannels * sizeof(float));
    norm_work_repeat(w);
    norm_work_sum(w, NULL, op->in[0]->data);
    remove_shift(op, w);
    if (norm_work_replicas(op, w, x, e) < 0)
        return -1;
    batch_norm_finish_statistics(op, w);
    norm_work_repeat(w);
    return 0;
}

static int batch_norm_run(struct op *op, struct exec *x, struct err *e)
{
    struct norm_work w = norm_work_of(op);

    if (find_statistics(op, x, &w, e) < 0)
        return -1;
    norm_work_apply(&w, NULL, op->in[0]->data, op->out[0]->data);
    return 0;
}

static int batch_norm_run_infer(struct op *op, struct exec *x, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]);
    const float *gamma = op->in[1]->data, *beta = op->in[2]->data;
    const float *mean = op->in[3]->data, *var = op->in[4]->data;
    struct norm_work w = norm_work_of(op);

    for (size_t c = 0; c < nchannels; c++) {
        w.k[NORM_WORK_A][c] = (float)((double)gamma[c] / sqrt((double)var[c] + op->attr.eps));
        w.k[NORM_WORK_C][c] = beta[c] - mean[c] * w.k[NORM_WORK_A][c];
    }
    norm_work_repeat(&w);
    norm_work_apply(&w, NULL, op->in[0]->data, op->out[0]->data);
    return 0;
}

#define KERNEL_OF(_kind, _run)                                                                    \
    .kind = &_kind, .supports = norm_work_supports, .prepare = norm_work_prepare, .run = _run,    \
    .release = simd_release

const struct kernel simd_batch_norm = {KERNEL_OF(batch_norm_kind, batch_norm_run)};
const struct kernel simd_batch_norm_relu = {KERNEL_OF(batch_norm_relu_kind, batch_norm_run)};
const struct kernel simd_batch_norm_infer = {
    KERNEL_OF(batch_norm_infer_kind, batch_norm_run_infer)};
