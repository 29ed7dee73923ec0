/* SPDX-License-Identifier: BSD-3-Clause */
/* Means over 2x2 pixels, means over whole images, subsampling of every second pixel, and their
 * gradients: a thread per result. Types are any. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* The large tensor has twice the height and width of the small one, or one more (subsample: one
 * less). */
struct shrink_args {
    const void *src;
    void *dst;
    unsigned height, width, channels;                   /* of the small tensor */
    unsigned large_height, large_width, large_channels; /* of the large tensor */
    unsigned n;                                         /* elements of dst */
};

DEVICE unsigned large_at(const struct shrink_args *k, unsigned image, unsigned y, unsigned x)
{
    return ((image * k->large_height + y) * k->large_width + x) * k->large_channels;
}

DEVICE void avg_pool2d_as(const struct shrink_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned c = i % k->channels, pixel = i / k->channels, row = pixel / k->width;
        unsigned at = large_at(k, row / k->height, 2 * (row % k->height), 2 * (pixel % k->width)) +
                      c;
        unsigned below = at + k->large_width * k->channels;

        gpu_store(k->dst, i, type,
                  (gpu_load(k->src, at, type) + gpu_load(k->src, at + k->channels, type) +
                   gpu_load(k->src, below, type) + gpu_load(k->src, below + k->channels, type)) /
                      4);
    }
}

/* A last row or column that pooling left out gets 0. */
DEVICE void avg_pool2d_grad_as(const struct shrink_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned c = i % k->channels, pixel = i / k->channels, row = pixel / k->large_width;
        unsigned x = pixel % k->large_width / 2, y = row % k->large_height / 2;
        unsigned at = ((row / k->large_height * k->height + y) * k->width + x) * k->channels + c;

        gpu_store(k->dst, i, type,
                  y < k->height && x < k->width ? gpu_load(k->src, at, type) / 4 : 0);
    }
}

/* The channels of the large tensor go to the middle of the small one's. */
DEVICE void subsample_as(const struct shrink_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        /* Wraps around below 0. */
        unsigned c = i % k->channels - (k->channels - k->large_channels) / 2;
        unsigned pixel = i / k->channels, row = pixel / k->width;
        unsigned at = large_at(k, row / k->height, 2 * (row % k->height), 2 * (pixel % k->width)) +
                      c;

        if (c < k->large_channels)
            gpu_copy(k->dst, i, k->src, at, type);
        else
            gpu_clear(k->dst, i, type);
    }
}

DEVICE void subsample_grad_as(const struct shrink_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned c = i % k->large_channels + (k->channels - k->large_channels) / 2;
        unsigned pixel = i / k->large_channels, row = pixel / k->large_width;
        unsigned x = pixel % k->large_width, y = row % k->large_height,
                 image = row / k->large_height;
        unsigned at = ((image * k->height + y / 2) * k->width + x / 2) * k->channels + c;

        if ((x | y) & 1)
            gpu_clear(k->dst, i, type);
        else
            gpu_copy(k->dst, i, k->src, at, type);
    }
}

TYPED_KERNEL(avg_pool2d, shrink_args)
TYPED_KERNEL(avg_pool2d_grad, shrink_args)
TYPED_KERNEL(subsample, shrink_args)
TYPED_KERNEL(subsample_grad, shrink_args)

struct global_args {
    const void *src;
    void *dst;
    unsigned npixels, channels, n; /* of an image; n: elements of dst */
};

DEVICE void global_avg_pool_as(const struct global_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned at = i / k->channels * k->npixels * k->channels + i % k->channels;
        double sum = 0;

        for (unsigned p = 0; p < k->npixels; p++)
            sum += (double)gpu_load(k->src, at + p * k->channels, type);
        gpu_store(k->dst, i, type, (float)(sum / (double)k->npixels));
    }
}

DEVICE void global_avg_pool_grad_as(const struct global_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned at = i / k->channels / k->npixels * k->channels + i % k->channels;

        gpu_store(k->dst, i, type, gpu_load(k->src, at, type) / (float)k->npixels);
    }
}

TYPED_KERNEL(global_avg_pool, global_args)
TYPED_KERNEL(global_avg_pool_grad, global_args)

C_BEGIN

static struct shrink_args shrink_of(const struct op *op, const struct tensor *small,
                                    const struct tensor *large)
{
    struct shrink_args k = {op->in[0]->data,
                            op->out[0]->data,
                            (unsigned)small->shape.dim[DIM_H],
                            (unsigned)small->shape.dim[DIM_W],
                            (unsigned)tensor_channels(small),
                            (unsigned)large->shape.dim[DIM_H],
                            (unsigned)large->shape.dim[DIM_W],
                            (unsigned)tensor_channels(large),
                            (unsigned)tensor_count(op->out[0])};

    return k;
}

static int run_avg_pool2d(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->out[0], op->in[0]);

    LAUNCH_AS(op->out[0]->dtype, avg_pool2d, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_avg_pool2d_grad(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->in[0], op->out[0]);

    LAUNCH_AS(op->out[0]->dtype, avg_pool2d_grad, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_subsample(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->out[0], op->in[0]);

    LAUNCH_AS(op->out[0]->dtype, subsample, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_subsample_grad(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->in[0], op->out[0]);

    LAUNCH_AS(op->out[0]->dtype, subsample_grad, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static struct global_args global_of(const struct op *op, const struct tensor *large)
{
    struct global_args k = {op->in[0]->data, op->out[0]->data,
                            (unsigned)(tensor_pixels(large) / (size_t)large->shape.dim[DIM_N]),
                            (unsigned)tensor_channels(large), (unsigned)tensor_count(op->out[0])};

    return k;
}

static int run_global_avg_pool(struct op *op, struct exec *x, struct err *e)
{
    struct global_args k = global_of(op, op->in[0]);

    LAUNCH_AS(op->out[0]->dtype, global_avg_pool, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_global_avg_pool_grad(struct op *op, struct exec *x, struct err *e)
{
    struct global_args k = global_of(op, op->out[0]);

    LAUNCH_AS(op->out[0]->dtype, global_avg_pool_grad, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

const struct kernel cuda_avg_pool2d = {
    &avg_pool2d_kind, cuda_supports_one_type, NULL, run_avg_pool2d, NULL, KERNEL_ANY};
const struct kernel cuda_avg_pool2d_grad = {
    &avg_pool2d_grad_kind, cuda_supports_one_type, NULL, run_avg_pool2d_grad, NULL, KERNEL_ANY};
const struct kernel cuda_subsample = {
    &subsample_kind, cuda_supports_one_type, NULL, run_subsample, NULL, KERNEL_ANY};
const struct kernel cuda_subsample_grad = {
    &subsample_grad_kind, cuda_supports_one_type, NULL, run_subsample_grad, NULL, KERNEL_ANY};
const struct kernel cuda_global_avg_pool = {
    &global_avg_pool_kind, cuda_supports_one_type, NULL, run_global_avg_pool, NULL, KERNEL_ANY};
const struct kernel cuda_global_avg_pool_grad = {
    &global_avg_pool_grad_kind, cuda_supports_one_type, NULL, run_global_avg_pool_grad, NULL,
    KERNEL_ANY};

C_END
