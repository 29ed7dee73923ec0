/* SPDX-License-Identifier: BSD-3-Clause */
/* Cross entropy, with p the softmax of z:
 *
 *     loss = w[t] (log sum exp(z - max) + max - z[t]),   dz[c] = w[t] (p[c] - [c = t])
 *
 * Ignored pixels have loss and gradient 0. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <math.h>

#include "trainer/backends/ref/chunks.h"
#include "trainer/backends/ref/softmax.h"
#include "trainer/backends/ref/vector.h"

static int ref_softmax_ce_prepare(struct op *op, struct err *e)
{
    op->workspace_size = CHUNKS * sizeof(double);
    return 0;
}

VECTOR_CLONES static double run_pixels(const float *z, const float *t, size_t npixels,
                                       size_t nclasses, const float *weights, float scale,
                                       float *dz)
{
    double loss = 0;

    for (size_t i = 0; i < npixels; i++, z += nclasses, dz += nclasses) {
        size_t target = t[i] < 0 ? 0 : (size_t)t[i];
        float w = t[i] < 0 ? 0 : weights ? weights[target] : 1, logit = z[target], sum;
        float largest = softmax(z, nclasses, dz, &sum);

        loss += (double)(w * (logf(sum) + (largest - logit)));
        for (size_t c = 0; c < nclasses; c++)
            dz[c] *= w * scale;
        dz[target] -= w * scale;
    }
    return loss;
}

static int ref_softmax_ce_run(struct op *op, struct exec *x, struct err *e)
{
    size_t npixels = tensor_pixels(op->in[0]), nclasses = tensor_channels(op->in[0]);
    const float *z = op->in[0]->data, *t = op->in[1]->data;
    double *loss = op->workspace, sum = 0;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++) {
        size_t begin = chunk_begin(npixels, i);

        loss[i] = run_pixels(z + begin * nclasses, t + begin, chunk_begin(npixels, i + 1) - begin,
                             nclasses, op->attr.class_weights, (float)x->grad_scale,
                             op->out[0]->data + begin * nclasses);
    }
    for (size_t i = 0; i < CHUNKS; i++)
        sum += loss[i];
    x->loss_sum += sum * x->loss_per_weight;
    return 0;
}

const struct kernel ref_softmax_ce = {
    .kind = &softmax_ce_kind, .prepare = ref_softmax_ce_prepare, .run = ref_softmax_ce_run};
