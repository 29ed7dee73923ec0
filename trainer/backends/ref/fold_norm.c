/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights and bias of a convolution that includes the batch norm (by running statistics) behind
 * it. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <math.h>

#include "trainer/backends/ref/vector.h"

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

const struct kernel ref_fold_norm = {.kind = &fold_norm_kind, .run = ref_fold_norm_run};
