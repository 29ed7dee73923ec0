/* SPDX-License-Identifier: BSD-3-Clause */
/* The mean over 2x2 pixels and its gradient. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

static float *at(const struct tensor *t, int64_t i, int64_t y, int64_t x)
{
    const int64_t *d = t->shape.dim;

    return t->data + ((i * d[DIM_H] + y) * d[DIM_W] + x) * d[DIM_C];
}

static int ref_avg_pool2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    const int64_t *d = dst->shape.dim;

#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t i = 0; i < d[DIM_N]; i++)
        for (int64_t y = 0; y < d[DIM_H]; y++)
            for (int64_t p = 0; p < d[DIM_W]; p++) {
                const float *above = at(src, i, 2 * y, 2 * p);
                const float *below = at(src, i, 2 * y + 1, 2 * p);
                float *to = at(dst, i, y, p);

                for (int64_t c = 0; c < d[DIM_C]; c++)
                    to[c] = (above[c] + above[d[DIM_C] + c] + below[c] + below[d[DIM_C] + c]) / 4;
            }
    return 0;
}

/* An odd last row or column, which pooling ignored, has gradient 0. */
static int ref_avg_pool2d_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *dx = op->out[0];
    const int64_t *d = dx->shape.dim, *small = dy->shape.dim;

#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t i = 0; i < d[DIM_N]; i++)
        for (int64_t y = 0; y < d[DIM_H]; y++)
            for (int64_t p = 0; p < d[DIM_W]; p++) {
                float *to = at(dx, i, y, p);
                bool inside = y / 2 < small[DIM_H] && p / 2 < small[DIM_W];
                const float *from = inside ? at(dy, i, y / 2, p / 2) : NULL;

                for (int64_t c = 0; c < d[DIM_C]; c++)
                    to[c] = inside ? from[c] / 4 : 0;
            }
    return 0;
}

const struct kernel ref_avg_pool2d = {.kind = &avg_pool2d_kind, .run = ref_avg_pool2d_run};
const struct kernel ref_avg_pool2d_grad = {
    .kind = &avg_pool2d_grad_kind, .run = ref_avg_pool2d_run_grad};
