/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses. */
#include "src/base.h"
#include "trainer/backends/ref/ref.h"

#include <math.h>

/* Functions of floats without branches or calls, so that the compiler vectorizes loops over
 * them. */

/* Returns max(x, least), to a rounding of x - least. A comparison would be exact, but the compiler
 * would turn it into a branch. */
static inline float vector_at_least(float x, float least)
{
    float above = x - least;

    return 0.5F * (above + fabsf(above)) + least;
}

/* exp(x) for x <= 0, with a relative error of at most 3e-7; 0 below -87.68. With x = (k + f) log 2,
 * |f| <= 1/2 and k >= -127, 2^k is built from its bits and 2^f is a Taylor polynomial. */
static inline float vector_exp_negative(float x)
{
    float k = (float)(int32_t)(vector_at_least(x * 1.44269504F, -127) - 0.5F), f;
    float p = 1.0F / 5040;
    int32_t bits;
    float power;

    f = (x - k * 0.693359375F) + k * 2.12194440e-4F; /* log 2 in two parts */
    f = vector_at_least(f, -1);
    p = p * f + 1.0F / 720;
    p = p * f + 1.0F / 120;
    p = p * f + 1.0F / 24;
    p = p * f + 1.0F / 6;
    p = p * f + 0.5F;
    p = p * f + 1;
    p = p * f + 1;
    bits = (127 + (int32_t)k) << 23;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* log(1 + m) for 0 <= m <= 1, with a relative error of at most 3e-7: the series of 2 artanh(m / (2
 * + m)). */
static inline float vector_log1p_unit(float m)
{
    float s = m / (2 + m), s2 = s * s, p = 2.0F / 15;

    p = p * s2 + 2.0F / 13;
    p = p * s2 + 2.0F / 11;
    p = p * s2 + 2.0F / 9;
    p = p * s2 + 2.0F / 7;
    p = p * s2 + 2.0F / 5;
    p = p * s2 + 2.0F / 3;
    p = p * s2 + 2;
    return p * s;
}

/* The softmax of one pixel. */

/* Sets p[c] = exp(z[c] - largest) / *sum, where *sum is the sum of exp(z[c] - largest), and returns
 * the largest logit. z and p may be the same. One class is a sigmoid: the other class has logit
 * 0. Not inlined into VECTOR_CLONES: its bits are the same for all instruction sets. */
static __attribute__((noinline)) float softmax(const float *z, size_t nclasses, float *p,
                                               float *sum)
{
    float largest = z[0];

    if (nclasses == 1 && largest < 0)
        largest = 0;
    for (size_t c = 1; c < nclasses; c++)
        largest = z[c] > largest ? z[c] : largest;
    *sum = nclasses == 1 ? vector_exp_negative(-largest) : 0;
    for (size_t c = 0; c < nclasses; c++) {
        p[c] = vector_exp_negative(z[c] - largest);
        *sum += p[c];
    }
    for (size_t c = 0; c < nclasses; c++)
        p[c] /= *sum;
    return largest;
}

/* The focal loss (Lin et al., ICCV 2017) multiplies a pixel's cross entropy by q^gamma, where q is
 * the probability of what is not true. */

/* Returns q^gamma. *q becomes at least 1e-30, so that it may be a divisor. */
static inline float focal_power(float *q, float gamma)
{
    *q = *q > 1e-30F ? *q : 1e-30F;
    return powf(*q, gamma);
}

/* Binary cross entropy, computed so that it is stable for every logit z. With m = exp(-|z|):
 *
 *     loss = max(z, 0) - z t + log(1 + m),   sigmoid(z) = 1 / (1 + m), or m / (1 + m) for z < 0
 *
 * Class weights multiply the loss and its gradient, sigmoid(z) - t, by w0 + (w1 - w0) t. Ignored
 * pixels have loss and gradient 0.
 *
 * Focal, with p = sigmoid(z) and q = p (1 - t) + (1 - p) t:
 *
 *     d q^gamma loss / d z = q^gamma ((p - t) + gamma loss p (1 - p) (1 - 2 t) / q) */

#define BLOCK 64 /* losses that are added up as floats */

static int prepare_ce(struct op *op, struct err *e)
{
    op->workspace_size = CHUNKS * sizeof(double);
    return 0;
}

static int add_losses(const double *loss, struct exec *x)
{
    double sum = 0;

    for (size_t i = 0; i < CHUNKS; i++)
        sum += loss[i];
    x->loss_sum += sum * x->loss_per_weight;
    return 0;
}

/* Returns a block's loss and writes its gradient; scale: factor of the gradient; w0, w1: weights of
 * background and foreground. Inlined with gamma 0, it is a loop without branches. */
static inline __attribute__((always_inline)) float
add_block(const float *z, const float *t, size_t n, float scale, float w0, float w1, float gamma,
          float *dz)
{
    float loss = 0;

#pragma omp simd reduction(+ : loss)
    for (size_t i = 0; i < n; i++) {
        float logit = z[i], target = t[i], positive = logit > 0 ? logit : 0;
        float m = vector_exp_negative(-fabsf(logit)), s = 1 / (1 + m), ms = m * s;
        float w = w0 + (w1 - w0) * target, weight = target < 0 ? 0 : w;
        float ce = positive - logit * target + vector_log1p_unit(m);
        float p = logit >= 0 ? s : ms, slope = p - target;

        if (gamma > 0) {
            float other = logit >= 0 ? ms : s, q = p + (other - p) * target;
            float power = focal_power(&q, gamma);

            slope = power * (slope + gamma * ce * (p * other * (1 - 2 * target) / q));
            ce *= power;
        }
        loss += weight * ce;
        dz[i] = weight * slope * scale;
    }
    return loss;
}

VECTOR_CLONES static float run_block(const float *z, const float *t, size_t n, float scale,
                                     float w0, float w1, float gamma, float *dz)
{
    return gamma > 0 ? add_block(z, t, n, scale, w0, w1, gamma, dz)
                     : add_block(z, t, n, scale, w0, w1, 0, dz);
}

static int ref_bce_run(struct op *op, struct exec *x, struct err *e)
{
    const float *z = op->in[0]->data, *t = op->in[1]->data, *w = op->attr.class_weights;
    float w0 = w ? w[0] : 1, w1 = w ? w[1] : 1;
    size_t n = tensor_count(op->in[0]);
    double *loss = op->workspace;
    float *dz = op->out[0]->data, scale = (float)x->grad_scale;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++) {
        size_t end = chunk_begin(n, i + 1);

        loss[i] = 0;
        for (size_t at = chunk_begin(n, i); at < end; at += BLOCK)
            loss[i] += (double)run_block(z + at, t + at, end - at < BLOCK ? end - at : BLOCK, scale,
                                         w0, w1, (float)op->attr.gamma, dz + at);
    }
    return add_losses(loss, x);
}

REF_KERNEL(bce, prepare_ce, ref_bce_run);

/* Cross entropy, with p the softmax of z:
 *
 *     loss = w[t] (log sum exp(z - max) + max - z[t]),   dz[c] = w[t] (p[c] - [c = t])
 *
 * Ignored pixels have loss and gradient 0. Focal, with q = 1 - p[t], the gradient is multiplied by
 * q^gamma (1 + gamma p[t] loss / q). */

/* Makes the cross entropy of a pixel the focal loss, and returns the factor of its gradient. */
static float focus(float *ce, const float *p, size_t nclasses, size_t target, float gamma)
{
    float q = 0, power;

    for (size_t c = 0; c < nclasses; c++)
        q += c == target ? 0 : p[c];
    *ce = q < 0.5F ? -log1pf(-q) : *ce; /* precise also for small q */
    power = focal_power(&q, gamma);
    float factor = power * (1 + gamma * p[target] * *ce / q);
    *ce *= power;
    return factor;
}

VECTOR_CLONES static double run_pixels(const float *z, const float *t, size_t npixels,
                                       size_t nclasses, const float *weights, float gamma,
                                       float scale, float *dz)
{
    double loss = 0;

    for (size_t i = 0; i < npixels; i++, z += nclasses, dz += nclasses) {
        size_t target = t[i] < 0 ? 0 : (size_t)t[i];
        float w = t[i] < 0 ? 0 : weights ? weights[target] : 1, logit = z[target], sum;
        float largest = softmax(z, nclasses, dz, &sum), ce = logf(sum) + (largest - logit);
        float factor = gamma > 0 ? focus(&ce, dz, nclasses, target, gamma) : 1;

        loss += (double)(w * ce);
        w *= factor;
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
    double *loss = op->workspace;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++) {
        size_t begin = chunk_begin(npixels, i);

        loss[i] = run_pixels(z + begin * nclasses, t + begin, chunk_begin(npixels, i + 1) - begin,
                             nclasses, op->attr.class_weights, (float)op->attr.gamma,
                             (float)x->grad_scale, op->out[0]->data + begin * nclasses);
    }
    return add_losses(loss, x);
}

REF_KERNEL(softmax_ce, prepare_ce, ref_softmax_ce_run);

/* The soft Tversky loss (Salehi et al., MLMI 2017), for each image; Dice if alpha = beta = 0.5.
 * With sums over its pixels that are not ignored, C classes, and class weights v = C w / sum w, or
 * 1:
 *
 *     I = sum p t,  S = sum a p + b t,  D = (2 I + 1) / (S + both I + 1),  loss = 1 - 1/C sum v D
 *     d loss / d p = -v/C (2 t - (a + both t) D) / (S + both I + 1),  dz[k] = p[k] (g[k] - sum g p)
 *
 * where a = 2 alpha, b = 2 beta, both = 2 - a - b. t is 1 for the pixel's class and 0 for others,
 * or the soft target. One logit has one class, the foreground. */

#define SMOOTH 1

struct geometry {
    size_t nimages, npixels, nclasses; /* npixels: of one image */
    float a, b; /* 1 for Dice, whose sums then have the bits of sum p + t */
    double both;
};

static struct geometry ref_dice_geometry_of(const struct op *op)
{
    const struct shape *s = &op->in[0]->shape;

    float a = (float)(2 * op->attr.alpha), b = (float)(2 * op->attr.beta);

    return (struct geometry){(size_t)s->dim[DIM_N], (size_t)(s->dim[DIM_H] * s->dim[DIM_W]),
                             (size_t)s->dim[DIM_C], a, b, 2 - (double)a - (double)b};
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
                                     const struct geometry *g, float *p, double *sums)
{
    size_t nclasses = g->nclasses;
    float a = g->a, b = g->b;

    for (size_t c = 0; c < 2 * nclasses; c++)
        sums[c] = 0;
    for (size_t i = 0; i < npixels; i++, z += nclasses, p += nclasses) {
        float sum;

        softmax(z, nclasses, p, &sum);
        for (size_t c = 0; c < nclasses && t[i] >= 0; c++) {
            float target = target_of(t[i], c, nclasses);
            sums[2 * c] += (double)(p[c] * target);
            sums[2 * c + 1] += (double)(a * p[c] + b * target);
        }
    }
}

/* Replaces p by dz; sums are of the whole image. */
VECTOR_CLONES static void differentiate(const float *t, size_t npixels, const struct geometry *g,
                                        const double *weights, const double *sums, double scale,
                                        float *p)
{
    size_t nclasses = g->nclasses;
    double a = (double)g->a, both = g->both;

    for (size_t i = 0; i < npixels; i++, p += nclasses) {
        float mean = 0;

        for (int pass = 0; pass < 2; pass++)
            for (size_t c = 0; c < nclasses; c++) {
                double s = 1 / (sums[2 * c + 1] + both * sums[2 * c] + SMOOTH);
                double d = (2 * sums[2 * c] + SMOOTH) * s;
                double target = t[i] < 0 ? 0 : (double)target_of(t[i], c, nclasses);
                double difference = 2 * target - (a + both * target) * d;
                float slope = (float)(t[i] < 0 ? 0 : -scale * weights[c] * s * difference);

                if (pass == 0)
                    mean += slope * p[c];
                else
                    p[c] *= nclasses == 1 ? slope * (1 - p[c]) : slope - mean;
            }
    }
}

static double loss_of(const double *sums, const double *weights, const struct geometry *g)
{
    double dice = 0;

    for (size_t c = 0; c < g->nclasses; c++)
        dice += weights[c] * (2 * sums[2 * c] + SMOOTH) /
                (sums[2 * c + 1] + g->both * sums[2 * c] + SMOOTH);
    return 1 - dice / (double)g->nclasses;
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

        sum_pixels(z + begin * g.nclasses, t + begin, end - begin, &g, dz + begin * g.nclasses,
                   sums + i * 2 * g.nclasses);
    }
    for (size_t n = 0; n < g.nimages; n++) {
        add_chunks(sums + n * stride, g.nclasses);
        x->loss_sum += loss_of(sums + n * stride, weights, &g) * x->loss_per_image;
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < g.nimages * CHUNKS; i++) {
        size_t begin = i / CHUNKS * g.npixels + chunk_begin(g.npixels, i % CHUNKS);
        size_t end = i / CHUNKS * g.npixels + chunk_begin(g.npixels, i % CHUNKS + 1);

        differentiate(t + begin, end - begin, &g, weights, sums + i / CHUNKS * stride, scale,
                      dz + begin * g.nclasses);
    }
    return 0;
}

REF_KERNEL(dice, ref_dice_prepare, ref_dice_run);
