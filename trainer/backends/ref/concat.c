/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <string.h>

static int run_concat(struct op *op, struct exec *x, struct err *e)
{
    const float *a = op->in[0]->data, *b = op->in[1]->data;
    size_t na = tensor_channels(op->in[0]), nb = tensor_channels(op->in[1]);
    size_t npixels = tensor_pixels(op->out[0]);
    float *dst = op->out[0]->data;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p++) {
        memcpy(dst + p * (na + nb), a + p * na, na * sizeof *dst);
        memcpy(dst + p * (na + nb) + na, b + p * nb, nb * sizeof *dst);
    }
    return 0;
}

static int run_concat_grad(struct op *op, struct exec *x, struct err *e)
{
    const float *src = op->in[0]->data;
    size_t na = tensor_channels(op->out[0]), nb = tensor_channels(op->out[1]);
    size_t npixels = tensor_pixels(op->in[0]);
    float *a = op->out[0]->data, *b = op->out[1]->data;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p++) {
        memcpy(a + p * na, src + p * (na + nb), na * sizeof *a);
        memcpy(b + p * nb, src + p * (na + nb) + na, nb * sizeof *b);
    }
    return 0;
}

const struct kernel ref_concat = {&concat_kind, NULL, NULL, run_concat, NULL};
const struct kernel ref_concat_grad = {&concat_grad_kind, NULL, NULL, run_concat_grad, NULL};
