/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <math.h>

#include "trainer/backends/vector.h"

VECTOR_CLONES static void scale(const float *src, float factor, size_t n, float *dst)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = factor * src[i];
}

static int run_fold_norm(struct op *op, struct exec *x, struct err *e)
{
    bool bias = op->kind == &fold_norm_kind;
    struct tensor *const *in = op->in, *const *norm = in + (bias ? 2 : 1);
    const float *gamma = norm[0]->data, *beta = norm[1]->data;
    const float *mean = norm[2]->data, *var = norm[3]->data;
    size_t nchannels = tensor_count(op->out[1]), window = tensor_count(in[0]) / nchannels;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < nchannels; c++) {
        double factor = (double)gamma[c] / sqrt((double)var[c] + op->attr.eps);
        double b = bias ? (double)in[1]->data[c] : 0;

        scale(in[0]->data + c * window, (float)factor, window, op->out[0]->data + c * window);
        op->out[1]->data[c] = (float)((double)beta[c] + (b - (double)mean[c]) * factor);
    }
    return 0;
}

const struct kernel ref_fold_norm = {&fold_norm_kind, NULL, NULL, run_fold_norm, NULL};
const struct kernel ref_fold_norm_nobias = {&fold_norm_nobias_kind, NULL, NULL, run_fold_norm, NULL};
