/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

struct max_pool2d_args {
    const float *src, *dy; /* large; small */
    const float *more;     /* large: added to the gradient; NULL: nothing */
    float *dst;            /* the pooled values, or dx */
    unsigned height, width, channels, n; /* of the small tensor; its elements */
    unsigned large_height, large_width; /* twice as much, or one more */
};

/* First of the four values of src that belong to element i of the small tensor. */
DEVICE unsigned pool_corner(const struct max_pool2d_args *k, unsigned i)
{
    unsigned c = i % k->channels, pixel = i / k->channels;
    unsigned column = pixel % k->width, row = pixel / k->width;
    unsigned line = row / k->height * k->large_height + 2 * (row % k->height);

    return (line * k->large_width + 2 * column) * k->channels + c;
}

KERNEL(max_pool2d, max_pool2d_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned at = pool_corner(&k, i), below = at + k.large_width * k.channels;
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
        unsigned at = pool_corner(&k, i), below = at + k.large_width * k.channels;
        unsigned place[4];
        unsigned largest = 0;

        place[0] = at;
        place[1] = at + k.channels;
        place[2] = below;
        place[3] = below + k.channels;
        for (unsigned j = 1; j < 4; j++)
            largest = k.src[place[j]] > k.src[place[largest]] ? j : largest;
        for (unsigned j = 0; j < 4; j++)
            k.dst[place[j]] = (j == largest ? k.dy[i] : 0) + (k.more ? k.more[place[j]] : 0);
    }
}

/* n: elements of the large tensor. A last row or column that pooling left out has no gradient. */
KERNEL(max_pool2d_edge, max_pool2d_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned pixel = i / k.channels, column = pixel % k.large_width;

        if (column >= 2 * k.width || pixel / k.large_width % k.large_height >= 2 * k.height)
            k.dst[i] = k.more ? k.more[i] : 0;
    }
}

C_BEGIN

static struct max_pool2d_args pool_of(const struct tensor *small, const struct tensor *large)
{
    struct max_pool2d_args k = {NULL, NULL, NULL, NULL, (unsigned)small->shape.dim[DIM_H],
                                (unsigned)small->shape.dim[DIM_W],
                                (unsigned)tensor_channels(small), (unsigned)tensor_count(small),
                                (unsigned)large->shape.dim[DIM_H],
                                (unsigned)large->shape.dim[DIM_W]};

    return k;
}

static int run_max_pool2d(struct op *op, struct exec *x, struct err *e)
{
    struct max_pool2d_args k = pool_of(op->out[0], op->in[0]);

    (void)e;
    k.src = op->in[0]->data;
    k.dst = op->out[0]->data;
    LAUNCH(max_pool2d, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

/* (dy, x) -> dx, or (a, dy, x) -> a + dx */
static int run_max_pool2d_grad(struct op *op, struct exec *x, struct err *e)
{
    struct tensor *const *in = op->in + op->kind->nin - 2;
    struct max_pool2d_args k = pool_of(in[0], in[1]);

    (void)e;
    k.dy = in[0]->data;
    k.src = in[1]->data;
    k.more = op->kind->nin > 2 ? op->in[0]->data : NULL;
    k.dst = op->out[0]->data;
    LAUNCH(max_pool2d_grad, gpu_blocks(k.n), x->device->stream, k);
    if (k.large_height > 2 * k.height || k.large_width > 2 * k.width) {
        k.n = (unsigned)tensor_count(op->out[0]);
        LAUNCH(max_pool2d_edge, gpu_blocks(k.n), x->device->stream, k);
    }
    return 0;
}

const struct kernel cuda_max_pool2d = {&max_pool2d_kind, cuda_supports, NULL, run_max_pool2d,
                                       NULL};
const struct kernel cuda_max_pool2d_grad = {&max_pool2d_grad_kind, cuda_supports, NULL,
                                            run_max_pool2d_grad, NULL};
const struct kernel cuda_max_pool2d_grad_add = {&max_pool2d_grad_add_kind, cuda_supports, NULL,
                                                run_max_pool2d_grad, NULL};

C_END
