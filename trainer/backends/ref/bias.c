/* SPDX-License-Identifier: BSD-3-Clause */
/* The bias of a tensor's channels and its gradient. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include "trainer/backends/ref/chunks.h"

static int ref_bias_run(struct op *op, struct exec *x, struct err *e)
{
    const float *src = op->in[0]->data, *b = op->in[1]->data;
    float *dst = op->out[0]->data;
    size_t n = tensor_channels(op->in[0]), npixels = tensor_pixels(op->in[0]);

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p++)
        for (size_t c = 0; c < n; c++)
            dst[p * n + c] = src[p * n + c] + b[c];
    return 0;
}

static int ref_bias_prepare_grad(struct op *op, struct err *e)
{
    op->workspace_size = chunks_workspace(tensor_channels(op->in[0])) * sizeof(double);
    return 0;
}

static int ref_bias_run_grad(struct op *op, struct exec *x, struct err *e)
{
    size_t n = tensor_channels(op->in[0]);
    double *sums = op->workspace;

    chunks_sum(op->in[0]->data, NULL, tensor_pixels(op->in[0]), n, sums);
    for (size_t c = 0; c < n; c++)
        op->out[0]->data[c] = (float)sums[c];
    return 0;
}

const struct kernel ref_bias = {.kind = &bias_kind, .run = ref_bias_run};
const struct kernel ref_bias_grad = {
    .kind = &bias_grad_kind, .prepare = ref_bias_prepare_grad, .run = ref_bias_run_grad};
