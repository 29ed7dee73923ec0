/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of batch norm, alone and with the ReLU behind it. The formulas are those of
 * ref/batch_norm.c. */
#include "config.h"
#include "trainer/backends/cpu/norm/norm_work.h"

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/norm/norm_kernels.h"

/* Computes a and c from gamma, saved and beta: the ReLU behind the norm was positive where a x + c
 * > 0. */
static void find_map(const struct op *op, const struct norm_work *w)
{
    size_t nchannels = w->plan->nchannels;
    const float *gamma = op->in[2]->data, *mean = op->in[3]->data, *scale = mean + nchannels;

    for (size_t c = 0; c < nchannels; c++) {
        w->k[NORM_WORK_A][c] = gamma[c] * scale[c];
        w->k[NORM_WORK_C][c] =
            w->plan->relu ? op->in[4]->data[c] - mean[c] * w->k[NORM_WORK_A][c] : 0;
        w->k[NORM_WORK_B][c] = 0;
        w->k[NORM_WORK_SHIFT][c] = mean[c];
    }
    norm_work_repeat(w);
}

/* Computes dgamma, dbeta and dx from w->sums. */
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
    norm_work_repeat(w);
    norm_work_apply(w, op->in[0]->data, op->in[1]->data, op->out[0]->data);
    return 0;
}

static int batch_norm_grad_run(struct op *op, struct exec *x, struct err *e)
{
    struct norm_work w = norm_work_of(op);

    find_map(op, &w);
    norm_work_sum(&w, op->in[0]->data, op->in[1]->data);
    return batch_norm_grad_finish(op, &w, x, e);
}

#define KERNEL_OF(_kind)                                                                          \
    .kind = &_kind, .supports = norm_work_supports, .prepare = norm_work_prepare,                 \
    .run = batch_norm_grad_run, .release = simd_release

const struct kernel simd_batch_norm_grad = {KERNEL_OF(batch_norm_grad_kind)};
const struct kernel simd_batch_norm_relu_grad = {KERNEL_OF(batch_norm_relu_grad_kind)};
