/* SPDX-License-Identifier: BSD-3-Clause */
/* Means over 2x2 pixels and over whole images, and every other pixel: one thread per result. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

/* Twice the height and width of the small tensor, or one more (one less: subsample). */
struct shrink_args {
    const float *src;
    float *dst;
    unsigned height, width, channels;                   /* of the small tensor */
    unsigned large_height, large_width, large_channels; /* of the other */
    unsigned n;                                         /* elements of dst */
};

/* Where pixel (y, x) of an image of the large tensor begins. */
DEVICE unsigned large_at(const struct shrink_args *k, unsigned image, unsigned y, unsigned x)
{
    return ((image * k->large_height + y) * k->large_width + x) * k->large_channels;
}

KERNEL(avg_pool2d, shrink_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned c = i % k.channels, pixel = i / k.channels, row = pixel / k.width;
        unsigned at = large_at(&k, row / k.height, 2 * (row % k.height), 2 * (pixel % k.width)) + c;
        unsigned below = at + k.large_width * k.channels;

        k.dst[i] = (k.src[at] + k.src[at + k.channels] + k.src[below] +
                    k.src[below + k.channels]) / 4;
    }
}

/* A last row or column that pooling left out has no gradient. */
KERNEL(avg_pool2d_grad, shrink_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned c = i % k.channels, pixel = i / k.channels, row = pixel / k.large_width;
        unsigned x = pixel % k.large_width / 2, y = row % k.large_height / 2;
        unsigned image = row / k.large_height;

        k.dst[i] = y < k.height && x < k.width
                       ? k.src[((image * k.height + y) * k.width + x) * k.channels + c] / 4
                       : 0;
    }
}

/* The large tensor's channels are in the middle of the small one's. */
KERNEL(subsample, shrink_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned c = i % k.channels - (k.channels - k.large_channels) / 2; /* may wrap */
        unsigned pixel = i / k.channels, row = pixel / k.width;

        k.dst[i] = c < k.large_channels ? k.src[large_at(&k, row / k.height, 2 * (row % k.height),
                                                         2 * (pixel % k.width)) + c]
                                        : 0;
    }
}

KERNEL(subsample_grad, shrink_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned c = i % k.large_channels + (k.channels - k.large_channels) / 2;
        unsigned pixel = i / k.large_channels, row = pixel / k.large_width;
        unsigned x = pixel % k.large_width, y = row % k.large_height, image = row / k.large_height;

        k.dst[i] = (x | y) & 1
                       ? 0
                       : k.src[((image * k.height + y / 2) * k.width + x / 2) * k.channels + c];
    }
}

struct global_args {
    const float *src;
    float *dst;
    unsigned npixels, channels, n; /* of an image; n: elements of dst */
};

KERNEL(global_avg_pool, global_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        const float *s = k.src + i / k.channels * k.npixels * k.channels + i % k.channels;
        double sum = 0;

        for (unsigned p = 0; p < k.npixels; p++)
            sum += (double)s[p * k.channels];
        k.dst[i] = (float)(sum / (double)k.npixels);
    }
}

KERNEL(global_avg_pool_grad, global_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned image = i / k.channels / k.npixels;

        k.dst[i] = k.src[image * k.channels + i % k.channels] / (float)k.npixels;
    }
}

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

    (void)e;
    LAUNCH(avg_pool2d, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_avg_pool2d_grad(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->in[0], op->out[0]);

    (void)e;
    LAUNCH(avg_pool2d_grad, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_subsample(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->out[0], op->in[0]);

    (void)e;
    LAUNCH(subsample, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_subsample_grad(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->in[0], op->out[0]);

    (void)e;
    LAUNCH(subsample_grad, gpu_blocks(k.n), x->device->stream, k);
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

    (void)e;
    LAUNCH(global_avg_pool, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_global_avg_pool_grad(struct op *op, struct exec *x, struct err *e)
{
    struct global_args k = global_of(op, op->out[0]);

    (void)e;
    LAUNCH(global_avg_pool_grad, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

const struct kernel cuda_avg_pool2d = {&avg_pool2d_kind, cuda_supports, NULL, run_avg_pool2d, NULL};
const struct kernel cuda_avg_pool2d_grad = {&avg_pool2d_grad_kind, cuda_supports, NULL,
                                            run_avg_pool2d_grad, NULL};
const struct kernel cuda_subsample = {&subsample_kind, cuda_supports, NULL, run_subsample, NULL};
const struct kernel cuda_subsample_grad = {&subsample_grad_kind, cuda_supports, NULL,
                                           run_subsample_grad, NULL};
const struct kernel cuda_global_avg_pool = {&global_avg_pool_kind, cuda_supports, NULL,
                                            run_global_avg_pool, NULL};
const struct kernel cuda_global_avg_pool_grad = {&global_avg_pool_grad_kind, cuda_supports, NULL,
                                                 run_global_avg_pool_grad, NULL};

C_END
