/* SPDX-License-Identifier: BSD-3-Clause */
/* The soft Dice loss, for each image. With sums over its pixels that are not ignored, C classes,
 * and class weights v (C w / sum w, or 1):
 *
 *     I = sum p t,  S = sum p + sum t,  loss = 1 - 1/C sum v (2 I + 1) / (S + 1)
 *     d loss / d p = -v/C (2 t / (S + 1) - (2 I + 1) / (S + 1)^2),  dz[k] = p[k] (g[k] - sum g p)
 *
 * t is 1 for the pixel's class and 0 for others, or the soft target. One logit has one class, the
 * foreground. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include "trainer/backends/ref/chunks.h"
#include "trainer/backends/ref/softmax.h"
#include "trainer/backends/ref/vector.h"

#define SMOOTH 1

struct geometry {
    size_t nimages, npixels, nclasses; /* npixels: of one image */
};

static struct geometry ref_dice_geometry_of(const struct op *op)
{
    const struct shape *s = &op->in[0]->shape;

    return (struct geometry){(size_t)s->dim[DIM_N], (size_t)(s->dim[DIM_H] * s->dim[DIM_W]),
                             (size_t)s->dim[DIM_C]};
}

/* Workspace: the weights v, and the sums I and S of each image, chunk and class. */
static int ref_dice_prepare(struct op *op, struct err *e)
{
    struct geometry g = ref_dice_geometry_of(op);

    op->workspace_size = (1 + g.nimages * CHUNKS * 2) * g.nclasses * sizeof(double);
    return 0;
}

static void ref_dice_set_weights(const float *w, size_t nclasses, double *dst)
{
    double sum = 0;

    for (size_t c = 0; c < nclasses && w; c++)
        sum += (double)w[c];
    for (size_t c = 0; c < nclasses; c++)
        dst[c] = w ? (double)w[c] * (double)nclasses / sum : 1;
}

static inline float target_of(float t, size_t c, size_t nclasses)
{
    return nclasses == 1 ? t : (float)((size_t)t == c);
}

/* Writes the probabilities p, and sums[2 c] = I, sums[2 c + 1] = S of class c. */
VECTOR_CLONES static void sum_pixels(const float *z, const float *t, size_t npixels,
                                     size_t nclasses, float *p, double *sums)
{
    for (size_t c = 0; c < 2 * nclasses; c++)
        sums[c] = 0;
    for (size_t i = 0; i < npixels; i++, z += nclasses, p += nclasses) {
        float sum;

        softmax(z, nclasses, p, &sum);
        for (size_t c = 0; c < nclasses && t[i] >= 0; c++) {
            float target = target_of(t[i], c, nclasses);
            sums[2 * c] += (double)(p[c] * target);
            sums[2 * c + 1] += (double)(p[c] + target);
        }
    }
}

/* Replaces p by dz; sums are of the whole image. */
VECTOR_CLONES static void differentiate(const float *t, size_t npixels, size_t nclasses,
                                        const double *weights, const double *sums, double scale,
                                        float *p)
{
    for (size_t i = 0; i < npixels; i++, p += nclasses) {
        float mean = 0;

        for (int pass = 0; pass < 2; pass++)
            for (size_t c = 0; c < nclasses; c++) {
                double s = 1 / (sums[2 * c + 1] + SMOOTH), d = (2 * sums[2 * c] + SMOOTH) * s;
                double target = t[i] < 0 ? 0 : (double)target_of(t[i], c, nclasses);
                float g = (float)(t[i] < 0 ? 0 : -scale * weights[c] * s * (2 * target - d));

                if (pass == 0)
                    mean += g * p[c];
                else
                    p[c] *= nclasses == 1 ? g * (1 - p[c]) : g - mean;
            }
    }
}

static double loss_of(const double *sums, const double *weights, size_t nclasses)
{
    double dice = 0;

    for (size_t c = 0; c < nclasses; c++)
        dice += weights[c] * (2 * sums[2 * c] + SMOOTH) / (sums[2 * c + 1] + SMOOTH);
    return 1 - dice / (double)nclasses;
}

/* Adds the sums of an image's chunks to those of its first chunk. */
static void add_chunks(double *sums, size_t nclasses)
{
    for (size_t i = 1; i < CHUNKS; i++)
        for (size_t c = 0; c < 2 * nclasses; c++)
            sums[c] += sums[i * 2 * nclasses + c];
}

static int ref_dice_run(struct op *op, struct exec *x, struct err *e)
{
    struct geometry g = ref_dice_geometry_of(op);
    const float *z = op->in[0]->data, *t = op->in[1]->data;
    double *weights = op->workspace, *sums = weights + g.nclasses;
    double scale = x->image_scale / (double)g.nclasses;
    size_t stride = CHUNKS * 2 * g.nclasses;
    float *dz = op->out[0]->data;

    ref_dice_set_weights(op->attr.class_weights, g.nclasses, weights);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < g.nimages * CHUNKS; i++) {
        size_t begin = i / CHUNKS * g.npixels + chunk_begin(g.npixels, i % CHUNKS);
        size_t end = i / CHUNKS * g.npixels + chunk_begin(g.npixels, i % CHUNKS + 1);

        sum_pixels(z + begin * g.nclasses, t + begin, end - begin, g.nclasses,
                   dz + begin * g.nclasses, sums + i * 2 * g.nclasses);
    }
    for (size_t n = 0; n < g.nimages; n++) {
        add_chunks(sums + n * stride, g.nclasses);
        x->loss_sum += loss_of(sums + n * stride, weights, g.nclasses) * x->loss_per_image;
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < g.nimages * CHUNKS; i++) {
        size_t begin = i / CHUNKS * g.npixels + chunk_begin(g.npixels, i % CHUNKS);
        size_t end = i / CHUNKS * g.npixels + chunk_begin(g.npixels, i % CHUNKS + 1);

        differentiate(t + begin, end - begin, g.nclasses, weights, sums + i / CHUNKS * stride,
                      scale, dz + begin * g.nclasses);
    }
    return 0;
}

const struct kernel ref_dice = {
    .kind = &dice_kind, .prepare = ref_dice_prepare, .run = ref_dice_run};
