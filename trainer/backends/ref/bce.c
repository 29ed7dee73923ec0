/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary cross entropy, computed so that it is stable for every logit z. With m = exp(-|z|):
 *
 *     loss = max(z, 0) - z t + log(1 + m),   sigmoid(z) = 1 / (1 + m), or m / (1 + m) for z < 0
 *
 * Class weights multiply the loss and its gradient, sigmoid(z) - t, by w0 + (w1 - w0) t. Ignored
 * pixels have loss and gradient 0. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <math.h>

#include "trainer/backends/ref/chunks.h"
#include "trainer/backends/ref/vector.h"
#include "trainer/backends/ref/vector_math.h"

#define BLOCK 64 /* losses that are added up as floats */

static int ref_bce_prepare(struct op *op, struct err *e)
{
    op->workspace_size = CHUNKS * sizeof(double);
    return 0;
}

/* Returns a block's loss and writes its gradient; scale: factor of the gradient; w0, w1: weights of
 * background and foreground. */
VECTOR_CLONES static float run_block(const float *z, const float *t, size_t n, float scale,
                                     float w0, float w1, float *dz)
{
    float loss = 0;

#pragma omp simd reduction(+ : loss)
    for (size_t i = 0; i < n; i++) {
        float logit = z[i], target = t[i], positive = logit > 0 ? logit : 0;
        float m = vector_exp_negative(-fabsf(logit)), s = 1 / (1 + m), ms = m * s;
        float w = w0 + (w1 - w0) * target, weight = target < 0 ? 0 : w;

        loss += weight * (positive - logit * target + vector_log1p_unit(m));
        dz[i] = weight * ((logit >= 0 ? s : ms) - target) * scale;
    }
    return loss;
}

static int ref_bce_run(struct op *op, struct exec *x, struct err *e)
{
    const float *z = op->in[0]->data, *t = op->in[1]->data, *w = op->attr.class_weights;
    float w0 = w ? w[0] : 1, w1 = w ? w[1] : 1;
    size_t n = tensor_count(op->in[0]);
    double *loss = op->workspace, sum = 0;
    float *dz = op->out[0]->data, scale = (float)x->grad_scale;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++) {
        size_t end = chunk_begin(n, i + 1);

        loss[i] = 0;
        for (size_t at = chunk_begin(n, i); at < end; at += BLOCK)
            loss[i] += (double)run_block(z + at, t + at, end - at < BLOCK ? end - at : BLOCK, scale,
                                         w0, w1, dz + at);
    }
    for (size_t i = 0; i < CHUNKS; i++)
        sum += loss[i];
    x->loss_sum += sum * x->loss_per_weight;
    return 0;
}

const struct kernel ref_bce = {.kind = &bce_kind, .prepare = ref_bce_prepare, .run = ref_bce_run};
