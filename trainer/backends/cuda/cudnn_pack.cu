/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around cuDNN's convolutions: weights in its order and type, their gradients back, biases. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

/* ours[k][c][taps] of floats and theirs[k][taps][c] of the type; n: numbers of either. */
struct order_args {
    const void *src;
    void *dst;
    unsigned c, taps, type, n;
};

KERNEL(order_weights, order_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned c = i % k.c, tap = i / k.c % k.taps, o = i / k.c / k.taps;

        gpu_store(k.dst, i, k.type, ((const float *)k.src)[(o * k.c + c) * k.taps + tap]);
    }
}

KERNEL(reorder_weights, order_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned tap = i % k.taps, c = i / k.taps % k.c, o = i / k.taps / k.c;

        ((float *)k.dst)[i] = gpu_load(k.src, (o * k.taps + tap) * k.c + c, k.type);
    }
}

struct add_bias_args {
    void *y;
    const float *bias;
    unsigned channels, type, n;
};

KERNEL(add_bias, add_bias_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        gpu_store(k.y, i, k.type, gpu_load(k.y, i, k.type) + k.bias[i % k.channels]);
}

/* Sums of each channel over a part of the places. */
struct sum_bias_args {
    const void *dy;
    double *partials; /* [nparts][channels] */
    float *db;
    unsigned channels, type, places, nparts;
};

KERNEL(sum_bias_parts, sum_bias_args)
{
    unsigned each = (k.places + k.nparts - 1) / k.nparts;

    for (unsigned i = gpu_index(); i < k.channels * k.nparts; i += gpu_stride()) {
        unsigned begin = i / k.channels * each, end = begin + each < k.places ? begin + each : k.places;
        double sum = 0;

        for (unsigned p = begin; p < end; p++)
            sum += (double)gpu_load(k.dy, (size_t)p * k.channels + i % k.channels, k.type);
        k.partials[i] = sum;
    }
}

KERNEL(sum_bias, sum_bias_args)
{
    for (unsigned c = gpu_index(); c < k.channels; c += gpu_stride()) {
        double sum = 0;

        for (unsigned part = 0; part < k.nparts; part++)
            sum += k.partials[part * k.channels + c];
        k.db[c] = (float)sum;
    }
}

C_BEGIN

static struct order_args order_of(const struct tensor *w, const void *src, void *dst, enum dtype type)
{
    struct order_args k = {src, dst, (unsigned)w->shape.dim[1],
                           (unsigned)(w->shape.dim[2] * w->shape.dim[3]), (unsigned)type,
                           (unsigned)tensor_count(w)};

    return k;
}

void cuda_order_weights(struct device *d, const struct tensor *w, void *dst, enum dtype type)
{
    struct order_args k = order_of(w, w->data, dst, type);

    LAUNCH(order_weights, gpu_blocks(k.n), d->stream, k);
}

void cuda_reorder_weights(struct device *d, const void *src, enum dtype type, const struct tensor *w)
{
    struct order_args k = order_of(w, src, w->data, type);

    LAUNCH(reorder_weights, gpu_blocks(k.n), d->stream, k);
}

void cuda_add_bias(struct device *d, const struct tensor *y, const struct tensor *bias)
{
    struct add_bias_args k = {y->data, bias->data, (unsigned)tensor_channels(y), (unsigned)y->dtype,
                              (unsigned)tensor_count(y)};

    LAUNCH(add_bias, gpu_blocks(k.n), d->stream, k);
}

static unsigned bias_parts(const struct tensor *dy)
{
    size_t parts = tensor_pixels(dy) / 64;

    return parts < 1 ? 1 : parts < 1024 ? (unsigned)parts : 1024;
}

size_t cuda_sum_bias_size(const struct tensor *dy)
{
    return bias_parts(dy) * tensor_channels(dy) * sizeof(double);
}

void cuda_sum_bias(struct device *d, const struct tensor *dy, const struct tensor *db, void *workspace)
{
    struct sum_bias_args k = {dy->data, (double *)workspace, db->data, (unsigned)tensor_channels(dy),
                              (unsigned)dy->dtype, (unsigned)tensor_pixels(dy), bias_parts(dy)};

    LAUNCH(sum_bias_parts, gpu_blocks((size_t)k.channels * k.nparts), d->stream, k);
    LAUNCH(sum_bias, gpu_blocks(k.channels), d->stream, k);
}

C_END
