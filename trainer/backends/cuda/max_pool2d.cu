/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

struct max_pool2d_args {
    const float *src, *dy; /* large; small */
    float *dst;            /* the pooled values, or dx */
    unsigned width, channels, n; /* of the small tensor; its elements */
};

/* First of the four values of src that belong to element i of the small tensor. */
DEVICE unsigned pool_corner(const struct max_pool2d_args *k, unsigned i)
{
    unsigned c = i % k->channels, pixel = i / k->channels;
    unsigned column = pixel % k->width, row = pixel / k->width;

    return ((2 * row) * 2 * k->width + 2 * column) * k->channels + c;
}

KERNEL(max_pool2d, max_pool2d_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned at = pool_corner(&k, i), below = at + 2 * k.width * k.channels;
        float top = k.src[at] > k.src[at + k.channels] ? k.src[at] : k.src[at + k.channels];
        float bottom = k.src[below] > k.src[below + k.channels] ? k.src[below]
                                                                : k.src[below + k.channels];

        k.dst[i] = top > bottom ? top : bottom;
    }
}

/* dx of the first largest of the four values gets dy, the others 0. */
KERNEL(max_pool2d_grad, max_pool2d_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned at = pool_corner(&k, i), below = at + 2 * k.width * k.channels;
        unsigned place[4];
        unsigned largest = 0;

        place[0] = at;
        place[1] = at + k.channels;
        place[2] = below;
        place[3] = below + k.channels;
        for (unsigned j = 1; j < 4; j++)
            largest = k.src[place[j]] > k.src[place[largest]] ? j : largest;
        for (unsigned j = 0; j < 4; j++)
            k.dst[place[j]] = j == largest ? k.dy[i] : 0;
    }
}

C_BEGIN

static bool supports(const struct op *op)
{
    const struct tensor *x = op->in[op->kind->nin - 1];

    return cuda_supports(op) && x->shape.dim[DIM_H] % 2 == 0 && x->shape.dim[DIM_W] % 2 == 0;
}

static struct max_pool2d_args pool_of(const struct tensor *small)
{
    struct max_pool2d_args k = {NULL, NULL, NULL, (unsigned)small->shape.dim[DIM_W],
                                (unsigned)tensor_channels(small), (unsigned)tensor_count(small)};

    return k;
}

static int run_max_pool2d(struct op *op, struct exec *x, struct err *e)
{
    struct max_pool2d_args k = pool_of(op->out[0]);

    (void)e;
    k.src = op->in[0]->data;
    k.dst = op->out[0]->data;
    LAUNCH(max_pool2d, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_max_pool2d_grad(struct op *op, struct exec *x, struct err *e)
{
    struct max_pool2d_args k = pool_of(op->in[0]);

    (void)e;
    k.dy = op->in[0]->data;
    k.src = op->in[1]->data;
    k.dst = op->out[0]->data;
    LAUNCH(max_pool2d_grad, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

const struct kernel cuda_max_pool2d = {&max_pool2d_kind, supports, NULL, run_max_pool2d,
                                       NULL};
const struct kernel cuda_max_pool2d_grad = {&max_pool2d_grad_kind, supports, NULL,
                                            run_max_pool2d_grad, NULL};

C_END
