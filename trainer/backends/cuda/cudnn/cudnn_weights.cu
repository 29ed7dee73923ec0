/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights in the order and type of cuDNN's convolutions, and their gradients back. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* Between w[out][c][taps] of floats, ours, and w[out][taps][c] of the type, cuDNN's. n: numbers of
 * either. */
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

C_BEGIN

static struct order_args order_of(const struct tensor *w, const void *src, void *dst,
                                  enum dtype type)
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

void cuda_reorder_weights(struct device *d, const void *src, enum dtype type,
                          const struct tensor *w)
{
    struct order_args k = order_of(w, src, w->data, type);

    LAUNCH(reorder_weights, gpu_blocks(k.n), d->stream, k);
}

C_END
