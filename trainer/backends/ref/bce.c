/* SPDX-License-Identifier: BSD-3-Clause */
/* Stable for every logit z: with m = exp(-|z|),
 *     loss = max(z, 0) - z t + log(1 + m),   sigmoid(z) = 1 / (1 + m) or m / (1 + m) for z < 0 */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <math.h>

#include "trainer/backends/ref/chunks.h"

static int prepare(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = CHUNKS * sizeof(double);
    return 0;
}

static double run_chunk(const float *z, const float *t, size_t n, float scale, float *dz)
{
    double loss = 0;

    for (size_t i = 0; i < n; i++) {
        float logit = z[i], m = expf(-fabsf(logit)), s = 1 / (1 + m);

        loss += (double)(fmaxf(logit, 0) - logit * t[i] + log1pf(m));
        dz[i] = ((logit >= 0 ? s : m * s) - t[i]) * scale;
    }
    return loss;
}

static int run_bce(struct op *op, struct exec *x, struct err *e)
{
    const float *z = op->in[0]->data, *t = op->in[1]->data;
    size_t n = tensor_count(op->in[0]);
    double *loss = op->workspace;
    float *dz = op->out[0]->data, scale = (float)x->grad_scale;

    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++) {
        size_t begin = chunk_begin(n, i);

        loss[i] = run_chunk(z + begin, t + begin, chunk_begin(n, i + 1) - begin, scale, dz + begin);
    }
    for (size_t i = 0; i < CHUNKS; i++)
        x->loss_sum += loss[i];
    return 0;
}

const struct kernel ref_bce = {&bce_kind, NULL, prepare, run_bce, NULL};
