/* SPDX-License-Identifier: BSD-3-Clause */
/* The mean over all pixels of an image and its gradient. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

/* One thread sums a channel of an image, so that the order does not depend on the number of
 * threads. */
static int ref_global_avg_pool_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    size_t nc = tensor_channels(src), n = (size_t)src->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(src) / n;

#pragma omp parallel for collapse(2) schedule(static)
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < nc; c++) {
            const float *s = src->data + i * npixels * nc + c;
            double sum = 0;

            for (size_t p = 0; p < npixels; p++)
                sum += (double)s[p * nc];
            op->out[0]->data[i * nc + c] = (float)(sum / (double)npixels);
        }
    return 0;
}

static int ref_global_avg_pool_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dst = op->out[0];
    size_t nc = tensor_channels(dst), n = (size_t)dst->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(dst) / n;
    const float *dy = op->in[0]->data;

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < n * npixels; p++)
        for (size_t c = 0; c < nc; c++)
            dst->data[p * nc + c] = dy[p / npixels * nc + c] / (float)npixels;
    return 0;
}

const struct kernel ref_global_avg_pool = {
    .kind = &global_avg_pool_kind, .run = ref_global_avg_pool_run};
const struct kernel ref_global_avg_pool_grad = {
    .kind = &global_avg_pool_grad_kind, .run = ref_global_avg_pool_run_grad};
