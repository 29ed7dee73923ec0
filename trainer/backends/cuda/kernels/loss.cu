/* SPDX-License-Identifier: BSD-3-Clause */
/* The losses, with the formulas of backends/ref/loss.c: 16 bytes of logits per
 * thread, or a number where they do not divide the pixels of one class or the classes. They are
 * added up per block, then by the last block over the blocks, both in a fixed order, into
 * cuda_scalars.loss_sum. With op_attr.counts the pass over the logits also counts what
 * metric/metric.c counts: whole numbers, in any order. With op_attr.measures the loss is also added
 * to device_counts.losses, and there is no gradient. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#define LOSS_BLOCKS 512
#define MAX_CLASSES 256 /* the model allows 250 */
#define MAX_COUNTS (2 + 3 * MAX_CLASSES)

/* Counts of a block, as a row of metric/metric.h: pixels, correct ones; then by class intersection,
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

/* With several logits the prediction is softmax.first. */
DEVICE void count_classes(unsigned *counts, unsigned pred, float t, unsigned classes)
{
    unsigned target = (unsigned)t;

    if (t < 0)
        return;
    ATOMIC_ADD(&counts[0], 1u);
    ATOMIC_ADD(&counts[2 + 3 * target + 2], 1u);
    if (pred < classes)
        ATOMIC_ADD(&counts[2 + 3 * pred + 1], 1u);
    if (pred == target) {
        ATOMIC_ADD(&counts[1], 1u);
        ATOMIC_ADD(&counts[2 + 3 * target], 1u);
    }
}

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
    float gamma, weights[MAX_CLASSES];
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

/* Returns the sigmoid of the logit z. m: exp(-|z|). */
DEVICE float sigmoid(float z, float m)
{
    return (z >= 0 ? 1 : m) / (1 + m);
}

/* Returns q^gamma. *q becomes at least 1e-30, so that it may be a divisor. */
DEVICE float focal_power(float *q, float gamma)
{
    *q = *q > 1e-30f ? *q : 1e-30f;
    return powf(*q, gamma);
}

/* Adds losses to sums[0] and weights to sums[1]: `each` of them are first added up as floats. */
DEVICE void bce_some(const struct ce_args *k, double *sums, unsigned *own, unsigned type,
                     unsigned each)
{
    float scale = (float)k->scalars->grad_scale, w0 = k->weights[0], w1 = k->weights[1];
    float gamma = k->gamma;

    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        float z[GPU_MOST_CHUNK], t[GPU_MOST_CHUNK], loss = 0, all = 0;

        gpu_load_some(k->z, i * each, type, each, z);
        gpu_load_some(k->t, i * each, type, each, t);
        for (unsigned j = 0; j < each; j++) {
            float positive = z[j] > 0 ? z[j] : 0, m = expf(-fabsf(z[j]));
            float weight = t[j] < 0 ? 0 : w0 + (w1 - w0) * t[j];
            float ce = positive - z[j] * t[j] + log1pf(m), p = sigmoid(z[j], m), slope = p - t[j];

            if (gamma > 0) {
                float other = sigmoid(-z[j], m), q = p + (other - p) * t[j];
                float power = focal_power(&q, gamma);

                slope = power * (slope + gamma * ce * (p * other * (1 - 2 * t[j]) / q));
                ce *= power;
            }
            loss += weight * ce;
            all += weight;
            count_binary(own, z[j], t[j]);
            z[j] = weight * slope * scale;
        }
        sums[0] += (double)loss;
        sums[1] += (double)all;
        if (k->dz)
            gpu_store_some(k->dz, i * each, type, each, z);
    }
}

KERNEL_BLOCK(bce, ce_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    SHARED(unsigned, counts, 5);
    int64_t *score = k.counts ? k.scalars->counts.score : NULL;
    unsigned own[5] = {0, 0, 0, 0, 0};
    double sums[2] = {0, 0};

    counts_begin(counts, 1);
    CHUNKED(k.n, DTYPE_F32, bce_some, &k, sums, own);
    counts_own(counts, own);
    if (score)
        counts_end(counts, 1, score);
    add_block(&k, sums[0], sums[1], scratch);
}

/* Of a pixel's logits z: the largest, the first that is, never NaN, and sum exp(z - largest). */
struct softmax {
    float largest, sum;
    unsigned first;
};

DEVICE struct softmax softmax(const float *z, unsigned classes, unsigned type, unsigned each)
{
    struct softmax s = {0, 0, classes};
    float v[GPU_MOST_CHUNK];

    for (unsigned c = 0; c < classes; c += each) {
        gpu_load_some(z, c, type, each, v);
        for (unsigned j = 0; j < each; j++)
            if (v[j] == v[j] && (s.first == classes || v[j] > s.largest)) {
                s.first = c + j;
                s.largest = v[j];
            }
    }
    for (unsigned c = 0; c < classes; c += each) {
        gpu_load_some(z, c, type, each, v);
        for (unsigned j = 0; j < each; j++)
            s.sum += expf(v[j] - s.largest);
    }
    return s;
}

/* Makes the cross entropy of a pixel the focal loss, and returns the factor of its gradient. */
DEVICE float focus(float *ce, const float *z, const struct softmax *s, const struct ce_args *k,
                   unsigned target, unsigned type, unsigned each)
{
    float v[GPU_MOST_CHUNK], q = 0, p = expf(z[target] - s->largest) / s->sum;

    for (unsigned c = 0; c < k->classes; c += each) {
        gpu_load_some(z, c, type, each, v);
        for (unsigned j = 0; j < each; j++)
            q += c + j == target ? 0 : expf(v[j] - s->largest) / s->sum;
    }
    *ce = q < 0.5f ? -log1pf(-q) : *ce; /* precise also for small q */
    float power = focal_power(&q, k->gamma), factor = power * (1 + k->gamma * p * *ce / q);
    *ce *= power;
    return factor;
}

/* Adds to sums as bce_some does. */
DEVICE void softmax_ce_some(const struct ce_args *k, double *sums, unsigned *counts, unsigned type,
                            unsigned each)
{
    float scale = (float)k->scalars->grad_scale;

    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        float t = k->t[i], weight = t < 0 ? 0 : k->weights[(unsigned)t];
        unsigned target = t < 0 ? 0 : (unsigned)t;
        const float *z = k->z + i * k->classes;
        struct softmax s = softmax(z, k->classes, type, each);

        if (k->counts)
            count_classes(counts, s.first, t, k->classes);
        float ce = s.largest + logf(s.sum) - z[target];
        float factor = k->gamma > 0 ? focus(&ce, z, &s, k, target, type, each) : 1;
        sums[0] += (double)(weight * ce);
        sums[1] += (double)weight;
        weight *= factor;
        for (unsigned c = 0; k->dz && c < k->classes; c += each) {
            float v[GPU_MOST_CHUNK];

            gpu_load_some(z, c, type, each, v);
            for (unsigned j = 0; j < each; j++)
                v[j] = expf(v[j] - s.largest) / s.sum * (weight * scale) -
                       (c + j == target ? weight * scale : 0);
            gpu_store_some(k->dz + i * k->classes, c, type, each, v);
        }
    }
}

KERNEL_BLOCK(softmax_ce, ce_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    SHARED(unsigned, counts, MAX_COUNTS);
    int64_t *score = k.counts ? k.scalars->counts.score : NULL;
    double sums[2] = {0, 0};

    counts_begin(counts, k.classes);
    CHUNKED(k.classes, DTYPE_F32, softmax_ce_some, &k, sums, counts);
    if (score)
        counts_end(counts, k.classes, score);
    add_block(&k, sums[0], sums[1], scratch);
}

/* An image is a matrix with rows of `columns` numbers. A row is one pixel with several classes or,
 * if there is one class, several pixels, so that 16 bytes fit. */
struct dice_args {
    const float *z, *t;
    struct cuda_scalars *scalars;
    float *dz;    /* first the probabilities */
    float *slope; /* [images][classes][2]: d loss / d p is slope[0] t + slope[1] */
    double *sums; /* [images][nparts][columns][2]: intersection; a predicted + b true */
    unsigned *counter;
    unsigned images, npixels, classes, nparts; /* npixels, nparts: of one image */
    unsigned pixels, columns, nrows;           /* pixels, columns: of a row; nrows: of an image */
    bool counts, measures;
    float a, b; /* 2 alpha, 2 beta */
    double both; /* 2 - a - b */
    double weights[MAX_CLASSES]; /* C w / sum w, or 1 */
};

/* Sets v to the targets of `each` numbers of a row from c on; negative where ignored. */
DEVICE void dice_targets(const struct dice_args *k, unsigned row, unsigned c, unsigned type,
                         unsigned each, float *v)
{
    if (k->classes == 1)
        gpu_load_some(k->t, row * k->pixels + c, type, each, v);
    else
        for (unsigned j = 0; j < each; j++)
            v[j] = k->t[row] < 0 ? -1 : (float)((unsigned)k->t[row] == c + j);
}

DEVICE void dice_probabilities_some(const struct dice_args *k, unsigned *own, unsigned *counts,
                                    unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->images * k->nrows; i += gpu_stride()) {
        const float *z = k->z + i * k->columns;
        struct softmax s = {0, 0, 0};

        if (k->classes > 1)
            s = softmax(z, k->classes, type, each);
        if (k->classes > 1 && k->counts)
            count_classes(counts, s.first, k->t[i], k->classes);
        for (unsigned c = 0; c < k->columns; c += each) {
            float v[GPU_MOST_CHUNK];

            gpu_load_some(z, c, type, each, v);
            for (unsigned j = 0; j < each; j++) {
                if (k->classes == 1)
                    count_binary(own, v[j], k->t[i * k->pixels + c + j]);
                v[j] = k->classes == 1 ? sigmoid(v[j], expf(-fabsf(v[j])))
                                       : expf(v[j] - s.largest) / s.sum;
            }
            gpu_store_some(k->dz + i * k->columns, c, type, each, v);
        }
    }
}

KERNEL_BLOCK(dice_probabilities, dice_args)
{
    SHARED(unsigned, counts, MAX_COUNTS);
    int64_t *score = k.counts ? k.scalars->counts.score : NULL;
    unsigned own[5] = {0, 0, 0, 0, 0};

    counts_begin(counts, k.classes);
    CHUNKED(k.columns, DTYPE_F32, dice_probabilities_some, &k, own, counts);
    if (k.classes == 1)
        counts_own(counts, own);
    if (score)
        counts_end(counts, k.classes, score);
}

/* Adds up `each` columns over the rows of a thread. base: the first row of the image. */
DEVICE void dice_column(const struct dice_args *k, double *both, double *total, unsigned base,
                        const struct gpu_share *s, unsigned type, unsigned each)
{
    unsigned c = s->column * each;

    for (unsigned i = s->begin; i < s->end;) {
        float a[GPU_MOST_CHUNK] = {0}, b[GPU_MOST_CHUNK] = {0};

        for (unsigned n = 0; n < GPU_FLOATS && i < s->end; n++, i += s->step) {
            float p[GPU_MOST_CHUNK], t[GPU_MOST_CHUNK];

            gpu_load_some(k->dz, (base + i) * k->columns + c, type, each, p);
            dice_targets(k, base + i, c, type, each, t);
            for (unsigned j = 0; j < each; j++) {
                a[j] += t[j] < 0 ? 0 : p[j] * t[j];
                b[j] += t[j] < 0 ? 0 : k->a * p[j] + k->b * t[j];
            }
        }
        for (unsigned j = 0; j < each; j++) {
            both[j] += (double)a[j];
            total[j] += (double)b[j];
        }
    }
}

/* A block sums up one part of an image, whose columns are at most GPU_BLOCK. */
DEVICE void dice_part(const struct dice_args *k, double *a, double *b, unsigned type, unsigned each)
{
    unsigned image = blockIdx.x / k->nparts, part = blockIdx.x % k->nparts, t = threadIdx.x;
    struct gpu_share s = gpu_share(k->nrows, k->nparts, part, k->columns / each, 0);
    unsigned at = blockIdx.x * k->columns + s.column * each;
    double both[GPU_MOST_CHUNK] = {0}, total[GPU_MOST_CHUNK] = {0};

    dice_column(k, both, total, image * k->nrows, &s, type, each);
    for (unsigned j = 0; j < each; j++) {
        a[j * GPU_BLOCK + t] = both[j];
        b[j * GPU_BLOCK + t] = total[j];
    }
    gpu_add_rows(a, each, s.width);
    gpu_add_rows(b, each, s.width);
    for (unsigned j = 0; s.row == 0 && j < each; j++) {
        k->sums[2 * (at + j)] = a[j * GPU_BLOCK + t];
        k->sums[2 * (at + j) + 1] = b[j * GPU_BLOCK + t];
    }
}

/* The last block makes losses and slopes of the sums. */
KERNEL_BLOCK(dice_sums, dice_args)
{
    SHARED(double, both, 4 * GPU_BLOCK);
    SHARED(double, total, 4 * GPU_BLOCK);
    SHARED(unsigned, last, 1);
    double scale = k.scalars->image_scale / k.classes, dice = 0;
    double *to = k.measures ? k.scalars->counts.losses : NULL;

    CHUNKED(k.columns, DTYPE_F32, dice_part, &k, both, total);
    if (!gpu_is_last(k.counter, last))
        return;
    for (unsigned i = threadIdx.x; i < k.images * k.classes; i += GPU_BLOCK) {
        unsigned c = i % k.classes, n = k.nparts * k.columns;
        const double *p = k.sums + 2 * (i / k.classes * n + c);
        double a = 0, b = 0, w = k.weights[c];

        for (unsigned j = 0; j < 2 * n; j += 2 * k.classes) {
            a += p[j];
            b += p[j + 1];
        }
        double s = 1 / (b + k.both * a + 1), d = (2 * a + 1) * s;
        dice += w * d;
        k.slope[2 * i] = (float)((k.both * d - 2) * scale * w * s);
        k.slope[2 * i + 1] = (float)(scale * w * s * d * (double)k.a);
    }
    dice = k.images - gpu_block_sum(dice, both) / k.classes;
    if (threadIdx.x)
        return;
    k.scalars->loss_sum += dice * k.scalars->loss_per_image;
    if (to) {
        to[2] += dice;
        to[3] += k.counts ? k.images : 0;
    }
}

/* Replaces the probabilities in dz by the gradient. */
DEVICE void dice_grad_some(const struct dice_args *k, unsigned type, unsigned each)
{
    bool one = k->classes == 1;

    for (unsigned i = gpu_index(); i < k->images * k->nrows; i += gpu_stride()) {
        const float *slope = k->slope + 2 * (i / k->nrows) * k->classes;
        float *dz = k->dz + i * k->columns, mean = 0;

        for (unsigned pass = one; pass < 2; pass++)
            for (unsigned c = 0; c < k->columns; c += each) {
                float p[GPU_MOST_CHUNK], t[GPU_MOST_CHUNK];

                gpu_load_some(dz, c, type, each, p);
                dice_targets(k, i, c, type, each, t);
                for (unsigned j = 0; j < each; j++) {
                    const float *line = slope + (one ? 0 : 2 * (c + j));
                    float g = t[j] < 0 ? 0 : line[0] * t[j] + line[1];

                    mean += pass ? 0 : g * p[j];
                    p[j] *= one ? g * (1 - p[j]) : g - mean;
                }
                if (pass)
                    gpu_store_some(dz, c, type, each, p);
            }
    }
}

KERNEL(dice_grad, dice_args)
{
    CHUNKED(k.columns, DTYPE_F32, dice_grad_some, &k);
}

C_BEGIN

static unsigned loss_blocks(const struct op *op)
{
    size_t pixels = tensor_pixels(op->in[0]), nclasses = tensor_channels(op->in[0]);
    unsigned n = gpu_blocks(nclasses == 1 ? pixels / GPU_EACH(pixels, DTYPE_F32) : pixels);

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
                        (float)op->attr.gamma, {0}};
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

/* Returns the number of blocks for an image. */
static unsigned dice_parts(const struct op *op)
{
    unsigned n = loss_blocks(op) / (unsigned)op->in[0]->shape.dim[DIM_N];

    return n < 1 ? 1 : n;
}

static int prepare_dice(struct op *op, struct err *e)
{
    size_t n = (size_t)op->in[0]->shape.dim[DIM_N] * tensor_channels(op->in[0]);

    op->workspace_size = 2 * n * (4 * dice_parts(op) * sizeof(double) + sizeof(float));
    return 0;
}

static struct dice_args dice_of(const struct op *op, const struct exec *x)
{
    const struct tensor *z = op->in[0];
    const float *w = op->attr.class_weights;
    struct dice_args k = {z->data, op->in[1]->data, x->device->scalars, op->out[0]->data, NULL,
                          (double *)op->workspace, x->device->counter,
                          (unsigned)z->shape.dim[DIM_N],
                          (unsigned)(z->shape.dim[DIM_H] * z->shape.dim[DIM_W]),
                          (unsigned)tensor_channels(z), dice_parts(op), 1, 0, 0,
                          op->attr.counts, op->attr.measures, (float)(2 * op->attr.alpha),
                          (float)(2 * op->attr.beta), 0, {0}};
    double sum = 0;

    k.both = 2 - (double)k.a - (double)k.b;
    k.pixels = k.classes == 1 ? GPU_EACH(k.npixels, DTYPE_F32) : 1;
    k.columns = k.classes * k.pixels;
    k.nrows = k.npixels / k.pixels;
    k.slope = (float *)(k.sums + 2 * k.images * k.nparts * k.columns);
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
    LAUNCH(dice_sums, k.images * k.nparts, stream, k);
    if (!op->attr.measures)
        LAUNCH(dice_grad, loss_blocks(op), stream, k);
    return 0;
}

CUDA_KERNEL(bce, cuda_supports, prepare_ce, run_bce, KERNEL_FLOATS);
CUDA_KERNEL(softmax_ce, fits_classes, prepare_ce, run_softmax_ce, KERNEL_FLOATS);
CUDA_KERNEL(dice, fits_classes, prepare_dice, run_dice, KERNEL_FLOATS);

C_END
