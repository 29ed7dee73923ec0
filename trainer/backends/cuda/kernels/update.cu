/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a step on the device: penalties, clipping, unscaling and the optimizers, with the
 * formulas of optim/optim.h, 16 bytes per thread. Sums have a fixed order. Here too: sums of
 * squares, sums of gradients, and at the beginning of a step the scale and the divisor of the
 * loss. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* Arrays of parameters are aligned and padded to 64 bytes (core/graph.h), and the padding is 0:
 * a thread has EACH numbers of them. */
#define EACH GPU_CHUNK(DTYPE_F32)

DEVICE void load(const float *p, size_t i, float *v)
{
    gpu_load_some(p, i * EACH, DTYPE_F32, EACH, v);
}

DEVICE void store(float *p, size_t i, const float *v)
{
    gpu_store_some(p, i * EACH, DTYPE_F32, EACH, v);
}

/* In doubles, which do not overflow. */
DEVICE double sum_squares(const float *v)
{
    double sum = 0;

    for (unsigned j = 0; j < EACH; j++)
        sum += (double)v[j] * (double)v[j];
    return sum;
}

/* An update (NULL for divide_loss) and the numbers of its run, both in device memory. */
struct update_args {
    const struct device_update *u;
    struct cuda_scalars *run;
};

/* dst = keep dst + add src for EACH numbers from i * EACH on. src may be NULL, for 0. */
DEVICE void add_scaled(float *dst, size_t i, float keep, float add, const float *src)
{
    float d[EACH], s[EACH] = {0};

    load(dst, i, d);
    if (src)
        load(src, i, s);
    for (unsigned j = 0; j < EACH; j++)
        d[j] = keep * d[j] + add * s[j];
    store(dst, i, d);
}

/* ---- each block has one piece of a tensor, or one tensor in measure_tensors */

/* Sets *begin to this thread's first index for load and store in a piece, and *end to the end. */
DEVICE void find_piece(const struct device_piece *p, size_t *begin, size_t *end)
{
    *begin = p->offset / EACH + threadIdx.x;
    *end = p->offset / EACH + (p->count + EACH - 1) / EACH;
}

KERNEL(penalize, update_args)
{
    if (k.run->leaves_out)
        return;
    const struct device_piece *piece = &k.u->layout.pieces[blockIdx.x];
    float penalty = k.u->layout.tensors[piece->tensor].penalty;
    size_t i, end;

    for (find_piece(piece, &i, &end); penalty > 0 && i < end; i += GPU_BLOCK)
        add_scaled(k.u->grad, i, 1, penalty, k.u->value);
}

/* Updates m and v, and replaces EACH gradients by the step of LAMB, without the rate. */
DEVICE void make_lamb_step(const struct device_update *u, size_t i, float decay,
                           const float *value, float *grad)
{
    const struct device_lamb a = u->lamb;
    float beta1 = (float)u->beta1, beta2 = (float)u->beta2, eps = (float)a.eps;
    float add1 = (float)(1 - u->beta1), add2 = (float)(1 - u->beta2);
    float debias1 = (float)a.debias1, debias2 = (float)a.debias2, m[EACH], v[EACH];

    load(u->slots[0], i, m);
    load(u->slots[1], i, v);
    for (unsigned j = 0; j < EACH; j++) {
        m[j] = beta1 * m[j] + add1 * grad[j];
        v[j] = beta2 * v[j] + add2 * grad[j] * grad[j];
        grad[j] = m[j] / debias1 / (sqrtf(v[j] / debias2) + eps) + decay * value[j];
    }
    store(u->slots[0], i, m);
    store(u->slots[1], i, v);
    store(u->grad, i, grad);
}

/* Sums of squares of each piece: of the values, and of the gradients times the factor of the update
 * or, with LAMB, of the steps. */
KERNEL_BLOCK(measure_pieces, update_args)
{
    SHARED(double, scratch, GPU_BLOCK);
    struct device_piece *piece = &k.u->layout.pieces[blockIdx.x];
    float factor = k.run->factor, decay = k.u->layout.tensors[piece->tensor].decay;
    double w = 0, g = 0;
    size_t i, end;

    if (k.run->leaves_out)
        return;
    for (find_piece(piece, &i, &end); i < end; i += GPU_BLOCK) {
        float value[EACH], grad[EACH];

        load(k.u->value, i, value);
        load(k.u->grad, i, grad);
        for (unsigned j = 0; j < EACH; j++)
            grad[j] *= factor;
        if (k.u->kind == DEVICE_LAMB)
            make_lamb_step(k.u, i, decay, value, grad);
        w += sum_squares(value);
        g += sum_squares(grad);
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

/* Returns LARS' factor of a tensor's steps, or LAMB's rate; 1 for the others. */
DEVICE float tensor_scale(const struct device_update *u, const struct device_tensor *t)
{
    double w = sqrt(t->squares[0]), g = sqrt(t->squares[1]);
    bool adapts = t->adapts && w > 0 && g > 0;

    if (u->kind == DEVICE_LARS)
        return adapts ? (float)(u->lars.trust * w / (g + (double)t->decay * w)) : 1;
    return u->kind == DEVICE_LAMB ? (float)(u->rate * (adapts ? w / g : 1)) : 1;
}

/* Updates a number *w. g: its gradient, or LAMB's step; m, v: its slots. */
DEVICE void optimize_number(const struct device_update *u, float decay, float scale, float g,
                            float *w, float *m, float *v)
{
    if (u->kind == DEVICE_ADAM) {
        g += u->adam.decay * *w;
        *m += u->adam.add1 * (g - *m);
        *v = u->adam.keep2 * *v + u->adam.add2 * g * g;
        *w = u->adam.keep * *w - u->adam.rate * *m / (sqrtf(*v) / u->adam.root + u->adam.eps);
    } else if (u->kind == DEVICE_SGD) {
        g += u->sgd.decay * *w;
        *m = u->sgd.momentum * *m + g;
        *w -= u->sgd.rate * (u->sgd.nesterov ? g + u->sgd.look * *m : *m);
    } else if (u->kind == DEVICE_LARS) {
        *m = u->lars.momentum * *m + (g + decay * *w) * scale;
        *w -= (float)u->rate * *m;
    } else {
        *w -= scale * g;
    }
}

KERNEL(optimize, update_args)
{
    if (k.run->leaves_out)
        return;
    const struct device_update u = *k.u;
    const struct device_piece *piece = &u.layout.pieces[blockIdx.x];
    const struct device_tensor *t = &u.layout.tensors[piece->tensor];
    float factor = u.kind == DEVICE_LAMB ? 1 : k.run->factor, scale = tensor_scale(&u, t);
    unsigned nslots = u.kind == DEVICE_ADAM ? 2 : u.kind != DEVICE_LAMB;
    size_t i, end;

    for (find_piece(piece, &i, &end); i < end; i += GPU_BLOCK) {
        float value[EACH], grad[EACH], slots[2][EACH] = {{0}};

        load(u.value, i, value);
        load(u.grad, i, grad);
        for (unsigned s = 0; s < nslots; s++)
            load(u.slots[s], i, slots[s]);
        for (unsigned j = 0; j < EACH; j++)
            optimize_number(&u, t->decay, scale, grad[j] * factor, &value[j], &slots[0][j],
                            &slots[1][j]);
        for (unsigned s = 0; s < nslots; s++)
            store(u.slots[s], i, slots[s]);
        store(u.value, i, value);
    }
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

    for (size_t i = gpu_index(); i < k.n / EACH; i += gpu_stride()) {
        float v[EACH];

        load(k.values, i, v);
        s += sum_squares(v);
    }
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
    size_t n = k.u->n / EACH;

    for (size_t i = gpu_index(); i < n; i += gpu_stride())
        add_scaled(k.u->grad, i, factor, 0, NULL);
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
    for (size_t i = gpu_index(); i < k.n / EACH; i += gpu_stride())
        add_scaled(k.dst, i, 1, 1, k.src);
}

C_BEGIN

static void square(struct device *d, cudaStream_t stream, const float *values, size_t n,
                   double *sum)
{
    size_t blocks = n / EACH / GPU_BLOCK + 1;
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

    LAUNCH(accumulate, gpu_blocks(n / EACH), d->sides[DEVICE_BESIDE], k);
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
    LAUNCH(unscale, gpu_blocks(u->n / EACH), d->stream, k);
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
    if (u->kind == DEVICE_LARS || u->kind == DEVICE_LAMB) {
        LAUNCH(measure_pieces, u->layout.npieces, d->stream, k);
        LAUNCH(measure_tensors, u->layout.ntensors, d->stream, k);
    }
    LAUNCH(optimize, u->layout.npieces, d->stream, k);
}

C_END
