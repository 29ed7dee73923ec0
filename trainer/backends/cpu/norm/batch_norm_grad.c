/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of batch norm, alone and with the ReLU behind it. The formulas are those of
 * ref/batch_norm.c. */
#include "config.h"
#include "trainer/backends/cpu/norm/batch_norm.h"

#include <string.h>

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/norm/norm_kernels.h"
#include "trainer/backends/cpu/norm/norm_work.h"

/* Computes a and c from gamma, saved and beta: the ReLU behind the norm was positive where a x + c
 * > 0. */
static void find_map(const struct op *op, const struct norm_work *w)
{
    size_t nchannels = w->plan->nchannels;
    const float *gamma = op->in[2]->data, *mean = op->in[3]->data, *scale = mean + nchannels;

    for (size_t c = 0; c < nchannels; c++) {
        w->k[NORM_WORK_A][c] = gamma[c] * scale[c];
        w->k[NORM_WORK_C][c] =
            op->attr.relu ? op->in[4]->data[c] - mean[c] * w->k[NORM_WORK_A][c] : 0;
        w->k[NORM_WORK_B][c] = 0;
        w->k[NORM_WORK_SHIFT][c] = mean[c];
    }
    norm_work_repeat(w);
}

/* Writes coef[5][C], OP_NORM_GRAD_COEF of core/op.h. */
static void write_coef(const struct norm_work *w, float *coef)
{
    static const int values[] = {NORM_WORK_A, NORM_WORK_C, NORM_WORK_A, NORM_WORK_B,
                                 NORM_WORK_SHIFT};
    size_t n = w->plan->nchannels;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        memcpy(coef + i * n, w->k[values[i]], n * sizeof *coef);
}

/* Computes dgamma, dbeta and dx from w->sums; with attr.scale_shift, OP_NORM_GRAD_COEF in place of
 * dx. */
static int batch_norm_grad_finish(const struct op *op, const struct norm_work *w, struct exec *x,
                                  struct err *e)
{
    size_t nchannels = w->plan->nchannels;
    const float *gamma = op->in[2]->data, *mean = op->in[3]->data, *scale = mean + nchannels;
    float *dgamma = op->out[1]->data, *dbeta = op->out[2]->data;

    for (size_t c = 0; c < nchannels; c++) {
        dbeta[c] = (float)w->sums[c]; /* this replica's share, which is summed over all replicas
                                       * later */
        dgamma[c] = (float)(w->sums[nchannels + c] * (double)scale[c]);
    }
    if (norm_work_replicas(op, w, x, e) < 0)
        return -1;
    for (size_t c = 0; c < nchannels; c++) {
        double count = w->sums[2 * nchannels], s = (double)scale[c], a = (double)gamma[c] * s;
        double b = -a * s * s * w->sums[nchannels + c] / count;

        w->k[NORM_WORK_B][c] = (float)b;
        w->k[NORM_WORK_SHIFT][c] = (float)(-a * w->sums[c] / count - b * (double)mean[c]);
    }
    if (op->attr.scale_shift) {
        write_coef(w, op->out[0]->data);
        return 0;
    }
    norm_work_repeat(w);
    norm_work_apply(op, w, op->in[0]->data, op->in[1]->data);
    return 0;
}

/* Converts OP_SUMS, the sums of dy and of dy x, to sums of dy and of dy (x - mean). */
static void take_sums(const struct op *op, const struct norm_work *w)
{
    const float *sums = op->in[OP_SUMS]->data;
    size_t n = w->plan->nchannels;

    for (size_t c = 0; c < n; c++) {
        w->sums[c] = (double)sums[c];
        w->sums[n + c] = (double)sums[n + c] - (double)op->in[3]->data[c] * w->sums[c];
    }
}

static int batch_norm_grad_run(struct op *op, struct exec *x, struct err *e)
{
    struct norm_work w = norm_work_of(op);

    find_map(op, &w);
    if (op->in[OP_SUMS])
        take_sums(op, &w);
    else
        norm_work_sum(op, &w, op->in[0]->data, op->in[1]->data);
    return batch_norm_grad_finish(op, &w, x, e);
}

/* OP_SUMS are given only with the ReLU. */
const struct kernel simd_batch_norm_grad = {
    .kind = &batch_norm_grad_kind, .supports = norm_work_supports, .prepare = norm_work_prepare,
    .run = batch_norm_grad_run, .release = simd_release,
    .accepts = OP_RELU | OP_AS_SCALE_SHIFT | OP_TAKES_SUMS};
