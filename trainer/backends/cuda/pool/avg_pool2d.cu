/* SPDX-License-Identifier: BSD-3-Clause */
/* Means over 2x2 pixels, subsampling of every second pixel, their gradients, and that of means over
 * whole images (bias.cu), for any type: 16 bytes of the result per thread, or a number where they
 * do not divide the channels. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* The large tensor has twice the height and width of the small one, or one more (subsampling: one
 * less). In subsampling its channels go to the middle of the small one's. */
struct shrink_args {
    const void *src;
    void *dst;
    unsigned height, width, channels;                   /* of the small tensor */
    unsigned large_height, large_width, large_channels; /* of the large tensor */
    unsigned n, before; /* elements of dst; channels of the small tensor before the large one's */
    bool mean;          /* of 2x2 pixels; otherwise the first of them */
};
#define SHRINK_LENGTH(k) ((k)->channels | (k)->large_channels | (k)->before)

DEVICE void shrink_some(const struct shrink_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        unsigned c = i * each % k->channels - k->before; /* wraps around below 0 */
        unsigned pixel = i * each / k->channels, row = pixel / k->width, y = row % k->height;
        unsigned at = ((row / k->height * k->large_height + 2 * y) * k->large_width +
                       2 * (pixel % k->width)) * k->large_channels + c;
        float sum[GPU_MOST_CHUNK] = {0}, v[GPU_MOST_CHUNK];

        if (c < k->large_channels)
            gpu_load_some(k->src, at, type, each, sum);
        for (unsigned q = 1; k->mean && q < 4; q++) {
            unsigned beside = q / 2 * k->large_width + q % 2;

            gpu_load_some(k->src, at + beside * k->channels, type, each, v);
            for (unsigned j = 0; j < each; j++)
                sum[j] = q < 3 ? sum[j] + v[j] : (sum[j] + v[j]) * 0.25f;
        }
        gpu_store_some(k->dst, i * each, type, each, sum);
    }
}

/* A last row or column that means left out gets 0. */
DEVICE void shrink_grad_some(const struct shrink_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        unsigned c = i * each % k->large_channels + k->before;
        unsigned pixel = i * each / k->large_channels, row = pixel / k->large_width;
        unsigned x = pixel % k->large_width, y = row % k->large_height;
        unsigned line = row / k->large_height * k->height + y / 2;
        float v[GPU_MOST_CHUNK] = {0};

        if (k->mean ? y / 2 < k->height && x / 2 < k->width : !((x | y) & 1))
            gpu_load_some(k->src, (line * k->width + x / 2) * k->channels + c, type, each, v);
        for (unsigned j = 0; k->mean && j < each; j++)
            v[j] *= 0.25f;
        gpu_store_some(k->dst, i * each, type, each, v);
    }
}

CHUNKED_KERNEL(shrink, shrink_args, SHRINK_LENGTH(k))
CHUNKED_KERNEL(shrink_grad, shrink_args, SHRINK_LENGTH(k))

struct global_args {
    const void *src;
    void *dst;
    unsigned npixels, channels, n; /* of an image; n: elements of dst */
};

DEVICE void global_avg_pool_grad_some(const struct global_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        unsigned image = i * each / k->channels / k->npixels;
        float v[GPU_MOST_CHUNK];

        gpu_load_some(k->src, image * k->channels + i * each % k->channels, type, each, v);
        for (unsigned j = 0; j < each; j++)
            v[j] /= (float)k->npixels;
        gpu_store_some(k->dst, i * each, type, each, v);
    }
}

CHUNKED_KERNEL(global_avg_pool_grad, global_args, k->channels)

C_BEGIN

static struct shrink_args shrink_of(const struct op *op, const struct tensor *small,
                                    const struct tensor *large)
{
    unsigned n = (unsigned)tensor_channels(small), nlarge = (unsigned)tensor_channels(large);
    struct shrink_args k = {op->in[0]->data, op->out[0]->data, (unsigned)small->shape.dim[DIM_H],
                            (unsigned)small->shape.dim[DIM_W], n,
                            (unsigned)large->shape.dim[DIM_H], (unsigned)large->shape.dim[DIM_W],
                            nlarge, (unsigned)tensor_count(op->out[0]), (n - nlarge) / 2,
                            op->kind == &avg_pool2d_kind || op->kind == &avg_pool2d_grad_kind};

    return k;
}

static unsigned shrink_blocks(const struct op *op, const struct shrink_args *k)
{
    return gpu_blocks(k->n / GPU_EACH(SHRINK_LENGTH(k), op->out[0]->dtype));
}

static int run_shrink(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->out[0], op->in[0]);

    LAUNCH_AS(op->out[0]->dtype, shrink, shrink_blocks(op, &k), x->device->stream, k);
    return 0;
}

static int run_shrink_grad(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->in[0], op->out[0]);

    LAUNCH_AS(op->out[0]->dtype, shrink_grad, shrink_blocks(op, &k), x->device->stream, k);
    return 0;
}

static int run_global_avg_pool_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dx = op->out[0];
    struct global_args k = {op->in[0]->data, dx->data,
                            (unsigned)(tensor_pixels(dx) / (size_t)dx->shape.dim[DIM_N]),
                            (unsigned)tensor_channels(dx), (unsigned)tensor_count(dx)};

    LAUNCH_AS(dx->dtype, global_avg_pool_grad, gpu_blocks(k.n / GPU_EACH(k.channels, dx->dtype)),
              x->device->stream, k);
    return 0;
}

const struct kernel cuda_avg_pool2d = {
    &avg_pool2d_kind, cuda_supports_one_type, NULL, run_shrink, NULL, KERNEL_ANY};
const struct kernel cuda_avg_pool2d_grad = {
    &avg_pool2d_grad_kind, cuda_supports_one_type, NULL, run_shrink_grad, NULL, KERNEL_ANY};
const struct kernel cuda_subsample = {
    &subsample_kind, cuda_supports_one_type, NULL, run_shrink, NULL, KERNEL_ANY};
const struct kernel cuda_subsample_grad = {
    &subsample_grad_kind, cuda_supports_one_type, NULL, run_shrink_grad, NULL, KERNEL_ANY};
const struct kernel cuda_global_avg_pool_grad = {
    &global_avg_pool_grad_kind, cuda_supports_one_type, NULL, run_global_avg_pool_grad, NULL,
    KERNEL_ANY};

C_END
