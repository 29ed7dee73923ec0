/* SPDX-License-Identifier: BSD-3-Clause */
/* The losses, with the formulas of backends/ref/{bce,softmax_ce,dice}.c. They are added up per
 * block, then by the last block over the blocks, both in a fixed order, into
 * cuda_scalars.loss_sum. With op_attr.counts the pass over the logits also counts what
 * metric/score.c counts: whole numbers, in any order. With op_attr.measures the loss is also added
 * to device_counts.losses, and there is no gradient. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#define LOSS_BLOCKS 512
#define MAX_CLASSES 256 /* the model allows 250 */
#define MAX_COUNTS (2 + 3 * MAX_CLASSES)

/* Counts of a block, as a row of metric/score.h: pixels, correct ones; then by class intersection,
 * predicted, true. */
DEVICE void counts_begin(unsigned *counts, unsigned classes)
{
    for (unsigned i = threadIdx.x; i < 2 + 3 * classes; i += GPU_BLOCK)
        counts[i] = 0;
    BARRIER();
}

/* With one logit the class is the foreground. */
DEVICE void count_binary(unsigned *own, float z, float t)
{
    unsigned counts = t >= 0, pred = z > 0 && counts, truth = t > 0.5f;

    own[0] += counts;
    own[1] += counts & (pred == truth);
    own[2] += pred & truth;
    own[3] += pred;
    own[4] += truth;
}

/* With several logits the prediction is the first of the largest; NaN never is. */
DEVICE void count_classes(unsigned *counts, const float *z, float t, unsigned classes)
{
    unsigned target = (unsigned)t, pred = classes;

    if (t < 0)
        return;
    for (unsigned c = 0; c < classes; c++)
        if (z[c] == z[c] && (pred == classes || z[c] > z[pred]))
            pred = c;
    ATOMIC_ADD(&counts[0], 1u);
    ATOMIC_ADD(&counts[2 + 3 * target + 2], 1u);
    if (pred < classes)
        ATOMIC_ADD(&counts[2 + 3 * pred + 1], 1u);
    if (pred == target) {
        ATOMIC_ADD(&counts[1], 1u);
        ATOMIC_ADD(&counts[2 + 3 * target], 1u);
    }
}

/* Adds the counts of a thread, with one logit. */
DEVICE void counts_own(unsigned *counts, const unsigned *own)
{
    for (unsigned i = 0; i < 5; i++)
        ATOMIC_ADD(&counts[i], own[i]);
}

DEVICE void counts_end(const unsigned *counts, unsigned classes, int64_t *score)
{
    BARRIER();
    for (unsigned i = threadIdx.x; i < 2 + 3 * classes; i += GPU_BLOCK)
        if (counts[i] > 0)
            ATOMIC_ADD((unsigned long long *)&score[i], (unsigned long long)counts[i]);
}

struct ce_args {
    const float *z, *t;
    struct cuda_scalars *scalars;
    float *dz; /* or NULL */
    double *losses; /* per block a loss, then per block a sum of weights */
    unsigned *counter;
    unsigned n, classes, images; /* n: pixels */
    bool counts, measures;
    float weights[MAX_CLASSES];
};

/* Adds up the blocks' losses and weights, in the last block. */
DEVICE void add_block(const struct ce_args *k, double loss, double weight, double *scratch)
{
    SHARED(unsigned, last, 1);
    struct cuda_scalars *s = k->scalars;
    double *to = k->measures ? s->counts.losses : NULL;

    loss = gpu_block_sum(loss, scratch);
    weight = gpu_block_sum(weight, scratch);
    if (threadIdx.x == 0) {
        k->losses[blockIdx.x] = loss;
        k->losses[gridDim.x + blockIdx.x] = weight;
    }
    if (!gpu_is_last(k->counter, last))
        return;
    loss = weight = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += GPU_BLOCK) {
        loss += k->losses[i];
        weight += k->losses[gridDim.x + i];
    }
    loss = gpu_block_sum(loss, scratch);
    weight = gpu_block_sum(weight, scratch);
    if (threadIdx.x)
        return;
    s->loss_sum += loss * s->loss_per_weight;
    if (to) {
        to[0] += loss;
        to[1] += weight;
        to[3] += k->images;
    }
}

KERNEL_BLOCK(bce, ce_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    SHARED(unsigned, counts, 5);
    float scale = (float)k.scalars->grad_scale, w0 = k.weights[0], w1 = k.weights[1];
    int64_t *score = k.counts ? k.scalars->counts.score : NULL;
    unsigned own[5] = {0, 0, 0, 0, 0};
    double loss = 0, all = 0;

    counts_begin(counts, 1);

    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        float z = k.z[i], t = k.t[i], positive = z > 0 ? z : 0, m = expf(z > 0 ? -z : z);
        float s = 1 / (1 + m), weight = t < 0 ? 0 : w0 + (w1 - w0) * t;

        loss += (double)(weight * (positive - z * t + log1pf(m)));
        all += (double)weight;
        count_binary(own, z, t);
        if (k.dz)
            k.dz[i] = weight * ((z >= 0 ? s : m * s) - t) * scale;
    }
    counts_own(counts, own);
    if (score)
        counts_end(counts, 1, score);
    add_block(&k, loss, all, scratch);
}

/* Sets p[c] = exp(z[c]) / sum; p may be z or NULL. With one class it is the sigmoid: the background
 * has the logit 0. Returns log sum exp(z). */
DEVICE float softmax(const float *z, unsigned classes, float *p)
{
    float largest = z[0], sum = 0;

    if (classes == 1 && largest < 0)
        largest = 0;
    for (unsigned c = 1; c < classes; c++)
        largest = z[c] > largest ? z[c] : largest;
    if (classes == 1)
        sum = expf(-largest);
    for (unsigned c = 0; c < classes; c++) {
        float v = expf(z[c] - largest);

        sum += v;
        if (p)
            p[c] = v;
    }
    for (unsigned c = 0; c < classes && p; c++)
        p[c] /= sum;
    return largest + logf(sum);
}

KERNEL_BLOCK(softmax_ce, ce_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    SHARED(unsigned, counts, MAX_COUNTS);
    float scale = (float)k.scalars->grad_scale;
    int64_t *score = k.counts ? k.scalars->counts.score : NULL;
    double loss = 0, all = 0;

    counts_begin(counts, k.classes);

    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned target = k.t[i] < 0 ? 0 : (unsigned)k.t[i];
        float weight = k.t[i] < 0 ? 0 : k.weights[target];
        const float *z = k.z + i * k.classes;
        float logit = z[target], *dz = k.dz ? k.dz + i * k.classes : NULL;

        if (score)
            count_classes(counts, z, k.t[i], k.classes);
        loss += (double)(weight * (softmax(z, k.classes, dz) - logit));
        all += (double)weight;
        for (unsigned c = 0; c < k.classes && dz; c++)
            dz[c] *= weight * scale;
        if (dz)
            dz[target] -= weight * scale;
    }
    if (score)
        counts_end(counts, k.classes, score);
    add_block(&k, loss, all, scratch);
}

/* sums[images][classes][2]: intersection, and predicted plus true. */
struct dice_args {
    const float *z, *t;
    struct cuda_scalars *scalars;
    float *dz;
    double *sums;
    unsigned images, npixels, classes; /* npixels: of one image */
    bool counts, measures;
    double weights[MAX_CLASSES]; /* C w / sum w, or 1 */
};

DEVICE float dice_target(float t, unsigned c, unsigned classes)
{
    return classes == 1 ? t : (float)((unsigned)t == c);
}

KERNEL_BLOCK(dice_probabilities, dice_args)
{
    SHARED(unsigned, counts, MAX_COUNTS);
    int64_t *score = k.counts ? k.scalars->counts.score : NULL;
    unsigned own[5] = {0, 0, 0, 0, 0};

    counts_begin(counts, k.classes);
    for (unsigned i = gpu_index(); i < k.images * k.npixels; i += gpu_stride()) {
        const float *z = k.z + i * k.classes;

        if (k.classes == 1)
            count_binary(own, z[0], k.t[i]);
        else if (score)
            count_classes(counts, z, k.t[i], k.classes);
        (void)softmax(z, k.classes, k.dz + i * k.classes);
    }
    if (k.classes == 1)
        counts_own(counts, own);
    if (score)
        counts_end(counts, k.classes, score);
}

/* A block computes the sums of one image and class. */
KERNEL_BLOCK(dice_sum, dice_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    unsigned image = blockIdx.x / k.classes, c = blockIdx.x % k.classes;
    double intersection = 0, total = 0;

    for (unsigned i = threadIdx.x; i < k.npixels; i += GPU_BLOCK) {
        unsigned pixel = image * k.npixels + i;
        float t = k.t[pixel], p = k.dz[pixel * k.classes + c];
        float target = dice_target(t, c, k.classes);

        intersection += t < 0 ? 0 : (double)(p * target);
        total += t < 0 ? 0 : (double)(p + target);
    }
    intersection = gpu_block_sum(intersection, scratch);
    total = gpu_block_sum(total, scratch);
    if (threadIdx.x == 0) {
        k.sums[2 * blockIdx.x] = intersection;
        k.sums[2 * blockIdx.x + 1] = total;
    }
}

KERNEL_BLOCK(dice_loss, dice_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    double dice = 0;

    for (unsigned i = threadIdx.x; i < k.images * k.classes; i += GPU_BLOCK)
        dice += k.weights[i % k.classes] * (2 * k.sums[2 * i] + 1) / (k.sums[2 * i + 1] + 1);
    dice = k.images - gpu_block_sum(dice, scratch) / k.classes;
    if (threadIdx.x == 0) {
        double *to = k.measures ? k.scalars->counts.losses : NULL;

        k.scalars->loss_sum += dice * k.scalars->loss_per_image;
        if (to) {
            to[2] += dice;
            to[3] += k.counts ? k.images : 0;
        }
    }
}

/* Replaces the probabilities in dz by the gradient. */
KERNEL(dice_grad, dice_args)
{
    double scale = k.scalars->image_scale / k.classes;

    for (unsigned i = gpu_index(); i < k.images * k.npixels; i += gpu_stride()) {
        const double *sums = k.sums + 2 * (i / k.npixels) * k.classes;
        float t = k.t[i], *p = k.dz + i * k.classes, mean = 0;

        for (unsigned pass = 0; pass < 2; pass++)
            for (unsigned c = 0; c < k.classes; c++) {
                double s = 1 / (sums[2 * c + 1] + 1), d = (2 * sums[2 * c] + 1) * s;
                double target = (double)dice_target(t, c, k.classes);
                float g = (float)(t < 0 ? 0 : -scale * k.weights[c] * s * (2 * target - d));

                if (pass == 0)
                    mean += g * p[c];
                else
                    p[c] *= k.classes == 1 ? g * (1 - p[c]) : g - mean;
            }
    }
}

C_BEGIN

static unsigned loss_blocks(const struct op *op)
{
    unsigned n = gpu_blocks(tensor_pixels(op->in[0]));

    return n < LOSS_BLOCKS ? n : LOSS_BLOCKS;
}

static int prepare_ce(struct op *op, struct err *e)
{
    op->workspace_size = 2 * loss_blocks(op) * sizeof(double);
    return 0;
}

static struct ce_args ce_of(const struct op *op, const struct exec *x)
{
    const float *weights = op->attr.class_weights;
    struct ce_args k = {op->in[0]->data, op->in[1]->data, x->device->scalars,
                        op->attr.measures ? NULL : op->out[0]->data, (double *)op->workspace,
                        x->device->counter,
                        (unsigned)tensor_pixels(op->in[0]), (unsigned)tensor_channels(op->in[0]),
                        (unsigned)op->in[0]->shape.dim[DIM_N], op->attr.counts, op->attr.measures,
                        {0}};
    unsigned n = k.classes == 1 ? 2 : k.classes;

    for (unsigned c = 0; c < n; c++)
        k.weights[c] = weights ? weights[c] : 1;
    return k;
}

static int run_bce(struct op *op, struct exec *x, struct err *e)
{
    struct ce_args k = ce_of(op, x);

    LAUNCH(bce, loss_blocks(op), x->device->stream, k);
    return 0;
}

static bool fits_classes(const struct op *op)
{
    return cuda_supports(op) && tensor_channels(op->in[0]) <= MAX_CLASSES;
}

static int run_softmax_ce(struct op *op, struct exec *x, struct err *e)
{
    struct ce_args k = ce_of(op, x);

    LAUNCH(softmax_ce, loss_blocks(op), x->device->stream, k);
    return 0;
}

static int prepare_dice(struct op *op, struct err *e)
{
    op->workspace_size = (size_t)op->in[0]->shape.dim[DIM_N] * tensor_channels(op->in[0]) * 2 *
                         sizeof(double);
    return 0;
}

static struct dice_args dice_of(const struct op *op, const struct exec *x)
{
    const struct tensor *z = op->in[0];
    const float *w = op->attr.class_weights;
    struct dice_args k = {z->data, op->in[1]->data, x->device->scalars, op->out[0]->data,
                          (double *)op->workspace, (unsigned)z->shape.dim[DIM_N],
                          (unsigned)(z->shape.dim[DIM_H] * z->shape.dim[DIM_W]),
                          (unsigned)tensor_channels(z), op->attr.counts, op->attr.measures, {0}};
    double sum = 0;

    for (unsigned c = 0; c < k.classes && w; c++)
        sum += (double)w[c];
    for (unsigned c = 0; c < k.classes; c++)
        k.weights[c] = w ? (double)w[c] * k.classes / sum : 1;
    return k;
}

static int run_dice(struct op *op, struct exec *x, struct err *e)
{
    struct dice_args k = dice_of(op, x);
    cudaStream_t stream = x->device->stream;

    LAUNCH(dice_probabilities, loss_blocks(op), stream, k);
    LAUNCH(dice_sum, k.images * k.classes, stream, k);
    LAUNCH(dice_loss, 1, stream, k);
    if (!op->attr.measures)
        LAUNCH(dice_grad, gpu_blocks(tensor_pixels(op->in[0])), stream, k);
    return 0;
}

const struct kernel cuda_bce = {
    &bce_kind, cuda_supports, prepare_ce, run_bce, NULL, KERNEL_FLOATS};
const struct kernel cuda_softmax_ce = {
    &softmax_ce_kind, fits_classes, prepare_ce, run_softmax_ce, NULL, KERNEL_FLOATS};
const struct kernel cuda_dice = {
    &dice_kind, fits_classes, prepare_dice, run_dice, NULL, KERNEL_FLOATS};

C_END
