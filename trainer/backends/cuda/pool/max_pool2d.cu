/* SPDX-License-Identifier: BSD-3-Clause */
/* Max pooling 2x2 with stride 2 and its gradient, for any type and size: 16 bytes per thread, or a
 * number where they do not divide the channels. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

struct max_pool2d_args {
    const void *src, *dy; /* large; small, of the gradient, or NULL */
    const void *added;     /* large: to be added to the gradient, or NULL */
    void *dst;            /* the pooled values, or dx */
    unsigned height, width, channels, n; /* of the small tensor; n: its elements */
    unsigned large_height, large_width; /* twice as large, or one more */
};

/* Sets the indices of the four pixels' numbers that belong to number i of the small tensor. */
DEVICE void pool_corners(const struct max_pool2d_args *k, unsigned i, unsigned *corner)
{
    unsigned c = i % k->channels, pixel = i / k->channels;
    unsigned column = pixel % k->width, row = pixel / k->width;
    unsigned line = row / k->height * k->large_height + 2 * (row % k->height);

    corner[0] = (line * k->large_width + 2 * column) * k->channels + c;
    corner[1] = corner[0] + k->channels;
    corner[2] = corner[0] + k->large_width * k->channels;
    corner[3] = corner[2] + k->channels;
}

/* The largest of the four; in the gradient its first gets dy, the others 0, and `added` is added to
 * all four. */
DEVICE void max_pool2d_some(const struct max_pool2d_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        float v[4][GPU_MOST_CHUNK], most[GPU_MOST_CHUNK], dy[GPU_MOST_CHUNK];
        unsigned corner[4], largest[GPU_MOST_CHUNK];

        pool_corners(k, i * each, corner);
        for (unsigned q = 0; q < 4; q++)
            gpu_load_some(k->src, corner[q], type, each, v[q]);
        for (unsigned j = 0; j < each; j++) {
            most[j] = v[0][j];
            largest[j] = 0;
            for (unsigned q = 1; q < 4; q++) {
                largest[j] = v[q][j] > most[j] ? q : largest[j];
                most[j] = v[q][j] > most[j] ? v[q][j] : most[j];
            }
        }
        if (!k->dy) {
            gpu_store_some(k->dst, i * each, type, each, most);
            continue;
        }
        gpu_load_some(k->dy, i * each, type, each, dy);
        for (unsigned q = 0; q < 4; q++) {
            if (k->added)
                gpu_load_some(k->added, corner[q], type, each, v[q]);
            for (unsigned j = 0; j < each; j++)
                v[q][j] = (largest[j] == q ? dy[j] : 0) + (k->added ? v[q][j] : 0);
            gpu_store_some(k->dst, corner[q], type, each, v[q]);
        }
    }
}

/* A last row or column that pooling left out gets 0, or `added`. n: elements of the large
 * tensor. */
DEVICE void max_pool2d_edge_some(const struct max_pool2d_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        unsigned pixel = i * each / k->channels, column = pixel % k->large_width;
        float v[GPU_MOST_CHUNK] = {0};

        if (column < 2 * k->width && pixel / k->large_width % k->large_height < 2 * k->height)
            continue;
        if (k->added)
            gpu_load_some(k->added, i * each, type, each, v);
        gpu_store_some(k->dst, i * each, type, each, v);
    }
}

CHUNKED_KERNEL(max_pool2d, max_pool2d_args, k->channels)
CHUNKED_KERNEL(max_pool2d_edge, max_pool2d_args, k->channels)

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

static void queue_pool(enum dtype t, const struct max_pool2d_args *k, struct exec *x)
{
    LAUNCH_AS(t, max_pool2d, gpu_blocks(k->n / GPU_EACH(k->channels, t)), x->device->stream, *k);
}

static int run_max_pool2d(struct op *op, struct exec *x, struct err *e)
{
    struct max_pool2d_args k = pool_of(op->out[0], op->in[0]);

    k.src = op->in[0]->data;
    k.dst = op->out[0]->data;
    queue_pool(op->out[0]->dtype, &k, x);
    return 0;
}

static void queue_grad(const struct op *op, const struct tensor *added, const struct tensor *dy,
                       const struct tensor *src, struct exec *x)
{
    struct max_pool2d_args k = pool_of(dy, src);
    enum dtype t = src->dtype;

    k.dy = dy->data;
    k.src = src->data;
    k.added = added ? added->data : NULL;
    k.dst = op->out[0]->data;
    queue_pool(t, &k, x);
    if (k.large_height > 2 * k.height || k.large_width > 2 * k.width) {
        k.n = (unsigned)tensor_count(op->out[0]);
        LAUNCH_AS(t, max_pool2d_edge, gpu_blocks(k.n / GPU_EACH(k.channels, t)),
                  x->device->stream, k);
    }
}

static int run_max_pool2d_grad(struct op *op, struct exec *x, struct err *e)
{
    queue_grad(op, NULL, op->in[0], op->in[1], x);
    return 0;
}

static int run_max_pool2d_grad_add(struct op *op, struct exec *x, struct err *e)
{
    queue_grad(op, op->in[0], op->in[1], op->in[2], x);
    return 0;
}

const struct kernel cuda_max_pool2d = {
    &max_pool2d_kind, cuda_supports_one_type, NULL, run_max_pool2d, NULL, KERNEL_ANY};
const struct kernel cuda_max_pool2d_grad = {
    &max_pool2d_grad_kind, cuda_supports_one_type, NULL, run_max_pool2d_grad, NULL, KERNEL_ANY};
const struct kernel cuda_max_pool2d_grad_add = {
    &max_pool2d_grad_add_kind, cuda_supports_one_type, NULL, run_max_pool2d_grad_add, NULL,
    KERNEL_ANY};

C_END
