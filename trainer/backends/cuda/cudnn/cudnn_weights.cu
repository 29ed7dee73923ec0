/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of weights in the order and type of cuDNN's convolutions to ours. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* n: numbers of src, [out][taps][c] of the type, and of dst, [out][c][taps]. */
struct reorder_args {
    const void *src;
    float *dst;
    unsigned c, taps, type, n;
};

KERNEL(reorder_weights, reorder_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned tap = i % k.taps, c = i / k.taps % k.c, o = i / k.taps / k.c;

        k.dst[i] = gpu_load(k.src, (o * k.taps + tap) * k.c + c, k.type);
    }
}

C_BEGIN

void cuda_reorder_weights(struct device *d, const void *src, enum dtype type,
                          const struct tensor *w)
{
    struct reorder_args k = {src, w->data, (unsigned)w->shape.dim[1],
                             (unsigned)(w->shape.dim[2] * w->shape.dim[3]), (unsigned)type,
                             (unsigned)tensor_count(w)};

    LAUNCH(reorder_weights, gpu_blocks(k.n), d->stream, k);
}

C_END
