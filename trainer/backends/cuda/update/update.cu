/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a step on the device: penalties, clipping, unscaling and the optimizers, with the
 * formulas of optim/optim.h. Adam and SGD are one launch for all parameters; LARS, LAMB and
 * penalties go by tensors in pieces. Sums have a fixed order. Here too: sums of squares, sums of
 * gradients, and at the beginning of a step the scale and the divisor of the loss. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* An update (NULL for divide_loss) and the numbers of its run, both in device memory. */
struct update_args {
    const struct device_update *u;
    struct cuda_scalars *run;
};

KERNEL(adam, update_args)
{
    if (k.run->leaves_out)
        return;
    const struct device_adam a = k.u->adam;
    float *value = k.u->value, *m = k.u->slots[0], *v = k.u->slots[1];
    const float *grad = k.u->grad;
    float factor = k.run->factor;
    size_t n = k.u->n;

    for (size_t i = gpu_index(); i < n; i += gpu_stride()) {
        float g = grad[i] * factor + a.decay * value[i];

        m[i] += a.add1 * (g - m[i]);
        v[i] = a.keep2 * v[i] + a.add2 * g * g;
        value[i] = a.keep * value[i] - a.rate * m[i] / (sqrtf(v[i]) / a.root + a.eps);
    }
}

KERNEL(sgd, update_args)
{
    if (k.run->leaves_out)
        return;
    const struct device_sgd a = k.u->sgd;
    float *value = k.u->value, *v = k.u->slots[0];
    const float *grad = k.u->grad;
    float factor = k.run->factor;
    size_t n = k.u->n;

    for (size_t i = gpu_index(); i < n; i += gpu_stride()) {
        float g = grad[i] * factor + a.decay * value[i];

        v[i] = a.momentum * v[i] + g;
        value[i] -= a.rate * (a.nesterov ? g + a.look * v[i] : v[i]);
    }
}

/* ---- tensor by tensor: each block has one piece, or one tensor in measure_tensors */

KERNEL(penalize, update_args)
{
    if (k.run->leaves_out)
        return;
    const struct device_piece *piece = &k.u->layout.pieces[blockIdx.x];
    float penalty = k.u->layout.tensors[piece->tensor].penalty;
    float *grad = k.u->grad + piece->offset;
    const float *value = k.u->value + piece->offset;

    for (unsigned i = threadIdx.x; penalty > 0 && i < piece->count; i += GPU_BLOCK)
        grad[i] += penalty * value[i];
}

/* Updates m and v of a piece, and replaces its gradient by the step of LAMB, without the rate. */
DEVICE void make_lamb_step(const struct device_update *u, const struct device_piece *p,
                           float factor)
{
    const struct device_lamb a = u->lamb;
    double decay = (double)u->layout.tensors[p->tensor].decay;
    float *m = u->slots[0] + p->offset, *v = u->slots[1] + p->offset, *grad = u->grad + p->offset;
    const float *value = u->value + p->offset;

    for (unsigned i = threadIdx.x; i < p->count; i += GPU_BLOCK) {
        double g = (double)(grad[i] * factor);

        m[i] = (float)(a.beta1 * (double)m[i] + (1 - a.beta1) * g);
        v[i] = (float)(a.beta2 * (double)v[i] + (1 - a.beta2) * g * g);
        grad[i] = (float)((double)m[i] / a.debias1 / (sqrt((double)v[i] / a.debias2) + a.eps) +
                          decay * (double)value[i]);
    }
}

/* Sums of squares of each piece: of the values, and of the gradients times the factor of the update
 * or, with LAMB, of the steps. */
KERNEL_BLOCK(measure_pieces, update_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    struct device_piece *piece = &k.u->layout.pieces[blockIdx.x];
    const float *value = k.u->value + piece->offset, *grad = k.u->grad + piece->offset;
    bool lamb = k.u->kind == DEVICE_LAMB;
    float factor = k.run->factor;
    double w = 0, g = 0;

    if (k.run->leaves_out)
        return;
    if (lamb)
        make_lamb_step(k.u, piece, factor);
    for (unsigned i = threadIdx.x; i < piece->count; i += GPU_BLOCK) {
        float v = lamb ? grad[i] : grad[i] * factor;

        w += (double)value[i] * (double)value[i];
        g += (double)v * (double)v;
    }
    w = gpu_block_sum(w, scratch);
    g = gpu_block_sum(g, scratch);
    if (threadIdx.x == 0) {
        piece->squares[0] = w;
        piece->squares[1] = g;
    }
}

KERNEL_BLOCK(measure_tensors, update_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    struct device_tensor *t = &k.u->layout.tensors[blockIdx.x];
    const struct device_piece *pieces = k.u->layout.pieces + t->first;
    double w = 0, g = 0;

    if (k.run->leaves_out)
        return;
    for (unsigned p = threadIdx.x; p < t->npieces; p += GPU_BLOCK) {
        w += pieces[p].squares[0];
        g += pieces[p].squares[1];
    }
    w = gpu_block_sum(w, scratch);
    g = gpu_block_sum(g, scratch);
    if (threadIdx.x == 0) {
        t->squares[0] = w;
        t->squares[1] = g;
    }
}

KERNEL(lars, update_args)
{
    if (k.run->leaves_out)
        return;
    const struct device_piece *piece = &k.u->layout.pieces[blockIdx.x];
    const struct device_tensor *t = &k.u->layout.tensors[piece->tensor];
    const struct device_lars a = k.u->lars;
    double w = sqrt(t->squares[0]), g = sqrt(t->squares[1]), decay = (double)t->decay;
    double trust = t->adapts && w > 0 && g > 0 ? a.trust * w / (g + decay * w) : 1;
    float *value = k.u->value + piece->offset, *v = k.u->slots[0] + piece->offset;
    const float *grad = k.u->grad + piece->offset;
    float factor = k.run->factor;

    for (unsigned i = threadIdx.x; i < piece->count; i += GPU_BLOCK) {
        float s = (float)(((double)(grad[i] * factor) + decay * (double)value[i]) * trust);

        v[i] = a.momentum * v[i] + s;
        value[i] -= a.rate * v[i];
    }
}

KERNEL(lamb, update_args)
{
    if (k.run->leaves_out)
        return;
    const struct device_piece *piece = &k.u->layout.pieces[blockIdx.x];
    const struct device_tensor *t = &k.u->layout.tensors[piece->tensor];
    double w = sqrt(t->squares[0]), s = sqrt(t->squares[1]);
    float rate = (float)(k.u->lamb.rate * (t->adapts && w > 0 && s > 0 ? w / s : 1));
    float *value = k.u->value + piece->offset;
    const float *step = k.u->grad + piece->offset;

    for (unsigned i = threadIdx.x; i < piece->count; i += GPU_BLOCK)
        value[i] -= rate * step[i];
}

/* ---- norms */

/* *sum += *unscale times the sum of the squares of n values; partials has one sum per block. */
struct square_args {
    const float *values;
    double *partials, *sum;
    const double *unscale;
    size_t n;
    unsigned nparts;
};

KERNEL_BLOCK(square_parts, square_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    double s = 0;

    for (size_t i = gpu_index(); i < k.n; i += gpu_stride())
        s += (double)k.values[i] * (double)k.values[i];
    s = gpu_block_sum(s, scratch);
    if (threadIdx.x == 0)
        k.partials[blockIdx.x] = s;
}

KERNEL_BLOCK(square_total, square_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    double s = 0;

    for (unsigned i = threadIdx.x; i < k.nparts; i += GPU_BLOCK)
        s += k.partials[i];
    s = gpu_block_sum(s, scratch);
    if (threadIdx.x == 0)
        *k.sum += s * *k.unscale;
}

KERNEL(clip, update_args)
{
    double norm = sqrt(k.run->clip_square);

    if (threadIdx.x == 0 && norm > k.u->clip)
        k.run->factor *= (float)(k.u->clip / norm);
}

/* ---- the divisor of the loss */

KERNEL(divide_loss, update_args)
{
    double divisor = k.run->loss_divisor > 1e-30 ? k.run->loss_divisor : 1e-30;

    if (threadIdx.x > 0)
        return;
    k.run->grad_scale /= divisor;
    k.run->loss_per_weight /= divisor;
}

/* ---- a scaled loss */

struct scale_args {
    const struct device_scaling *scaling;
    struct cuda_scalars *run;
};

KERNEL(scale_run, scale_args)
{
    double factor = (double)k.scaling->factor;

    if (threadIdx.x > 0)
        return;
    k.run->grad_scale *= factor;
    k.run->image_scale *= factor;
    k.run->unscale = 1 / (factor * factor);
}

/* Returns x to the power of n >= 0. */
DEVICE double power(double x, int64_t n)
{
    double y = 1;

    for (; n > 0; n >>= 1, x *= x)
        y *= n % 2 ? x : 1;
    return y;
}

/* Corrects the numbers of the update, which the host computed as if no step had been skipped. */
DEVICE void count_step(struct device_update *u, struct device_scaling *s)
{
    int64_t n = ++s->taken;
    double debias1 = 1 - power(u->beta1, n), debias2 = 1 - power(u->beta2, n);

    u->adam.rate = (float)(u->rate / debias1);
    u->adam.root = (float)sqrt(debias2);
    u->lamb.debias1 = debias1;
    u->lamb.debias2 = debias2;
    if (u->sgd.corrects)
        u->sgd.momentum = (float)((double)u->sgd.look * (s->taken > 1 ? s->rate / u->rate : 1));
    s->rate = u->rate;
}

/* clip_square is the sum of squares of the gradients, finite exactly if they are: doubles do not
 * overflow. */
KERNEL(check_finite, update_args)
{
    struct device_scaling *s = k.u->scaling;
    double square = k.run->clip_square;

    if (threadIdx.x > 0)
        return;
    k.run->leaves_out = !(square - square == 0);
    if (!k.run->leaves_out)
        count_step(&k.run->update, s);
    k.run->clip_square = 0;
    k.run->factor = 1 / s->factor;
    k.run->unscale = 1;
}

/* Divides the gradients by the factor of the loss; everything after it works on unscaled ones. */
KERNEL(unscale, update_args)
{
    float factor = k.run->factor;
    size_t n = k.u->n;

    for (size_t i = gpu_index(); i < n; i += gpu_stride())
        k.u->grad[i] *= factor;
}

KERNEL(adjust, update_args)
{
    struct device_scaling *s = k.u->scaling;

    if (threadIdx.x > 0)
        return;
    k.run->factor = 1;
    if (k.run->leaves_out) {
        s->factor = s->factor > 2 ? s->factor / 2 : 1;
        s->left_out++;
        s->good = 0;
    } else if (++s->good >= DEVICE_SCALING_STEPS) {
        s->factor = s->factor < 8388608 ? s->factor * 2 : 16777216;
        s->good = 0;
    }
}

struct accumulate_args {
    float *dst;
    const float *src;
    size_t n;
};

KERNEL(accumulate, accumulate_args)
{
    for (size_t i = gpu_index(); i < k.n; i += gpu_stride())
        k.dst[i] += k.src[i];
}

C_BEGIN

static void square(struct device *d, cudaStream_t stream, const float *values, size_t n,
                   double *sum)
{
    size_t blocks = n / GPU_BLOCK + 1;
    struct square_args k = {values, d->partials, sum, &d->scalars->unscale, n,
                            blocks < CUDA_SQUARE_PARTS ? (unsigned)blocks : CUDA_SQUARE_PARTS};

    LAUNCH(square_parts, k.nparts, stream, k);
    LAUNCH(square_total, 1, stream, k);
}

void cuda_square(struct device *d, const float *values, size_t n, bool own)
{
    square(d, d->sides[DEVICE_BESIDE], values, n,
           own ? &d->scalars->own_square : &d->scalars->square);
}

void cuda_accumulate(struct device *d, float *dst, const float *src, size_t n)
{
    struct accumulate_args k = {dst, src, n};

    LAUNCH(accumulate, gpu_blocks(n), d->sides[DEVICE_BESIDE], k);
}

static void update_tensors(struct device *d, const struct device_update *u, struct update_args k)
{
    LAUNCH(measure_pieces, u->layout.npieces, d->stream, k);
    LAUNCH(measure_tensors, u->layout.ntensors, d->stream, k);
    if (u->kind == DEVICE_LARS)
        LAUNCH(lars, u->layout.npieces, d->stream, k);
    else
        LAUNCH(lamb, u->layout.npieces, d->stream, k);
}

void cuda_divide_loss(struct device *d)
{
    struct update_args k = {NULL, d->scalars};

    LAUNCH(divide_loss, 1, d->stream, k);
}

void cuda_scale_run(struct device *d, const struct device_scaling *scaling)
{
    struct scale_args k = {scaling, d->scalars};

    LAUNCH(scale_run, 1, d->stream, k);
}

static void take_scale_out(struct device *d, const struct device_update *u, struct update_args k)
{
    square(d, d->stream, u->grad, u->n, &d->scalars->clip_square);
    LAUNCH(check_finite, 1, d->stream, k);
    LAUNCH(unscale, gpu_blocks(u->n), d->stream, k);
    LAUNCH(adjust, 1, d->stream, k);
}

void cuda_update(struct device *d, const struct device_update *u)
{
    struct update_args k = {&d->scalars->update, d->scalars};

    if (u->scaling)
        take_scale_out(d, u, k);
    if (u->penalizes)
        LAUNCH(penalize, u->layout.npieces, d->stream, k);
    if (u->clip > 0) {
        square(d, d->stream, u->grad, u->n, &d->scalars->clip_square);
        LAUNCH(clip, 1, d->stream, k);
    }
    if (u->kind == DEVICE_ADAM)
        LAUNCH(adam, gpu_blocks(u->n), d->stream, k);
    else if (u->kind == DEVICE_SGD)
        LAUNCH(sgd, gpu_blocks(u->n), d->stream, k);
    else
        update_tensors(d, u, k);
}

C_END
