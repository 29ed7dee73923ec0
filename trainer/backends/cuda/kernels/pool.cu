/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of pools. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* Max pooling with stride 2, of 2x2 or 3x3 pixels, and its gradient, for any type and size: 16
 * bytes per thread, or a number where they do not divide the channels. */

struct max_pool2d_args {
    const void *src, *dy; /* large; small, of the gradient, or NULL */
    const void *added;     /* large: to be added to the gradient, or NULL */
    void *dst;            /* the pooled values, or dx */
    unsigned height, width, channels, n; /* of the small tensor; n: its elements */
    unsigned large_height, large_width; /* twice as large, or one more;
                                          * for 3x3 pixels or one less */
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
DEVICE void max_pool2d_some(const struct max_pool2d_args *k, unsigned i, unsigned type,
                            unsigned each)
{
    float v[4][GPU_MOST_CHUNK], most[GPU_MOST_CHUNK], dy[GPU_MOST_CHUNK];
    unsigned corner[4], largest[GPU_MOST_CHUNK];

    pool_corners(k, i, corner);
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
        gpu_store_some(k->dst, i, type, each, most);
        return;
    }
    gpu_load_some(k->dy, i, type, each, dy);
    for (unsigned q = 0; q < 4; q++) {
        if (k->added)
            gpu_load_some(k->added, corner[q], type, each, v[q]);
        for (unsigned j = 0; j < each; j++)
            v[q][j] = (largest[j] == q ? dy[j] : 0) + (k->added ? v[q][j] : 0);
        gpu_store_some(k->dst, corner[q], type, each, v[q]);
    }
}

/* A last row or column that pooling left out gets 0, or `added`. n: elements of the large
 * tensor. */
DEVICE void max_pool2d_edge_some(const struct max_pool2d_args *k, unsigned i, unsigned type,
                                 unsigned each)
{
    unsigned pixel = i / k->channels, column = pixel % k->large_width;
    float v[GPU_MOST_CHUNK] = {0};

    if (column < 2 * k->width && pixel / k->large_width % k->large_height < 2 * k->height)
        return;
    if (k->added)
        gpu_load_some(k->added, i, type, each, v);
    gpu_store_some(k->dst, i, type, each, v);
}

/* Pooling of 3x3 pixels. Sets the largest numbers of the window of pixel (line / height, y, x) of
 * the small tensor, from channel c on, and which of the nine pixels has the first of them. line:
 * counted over all images. */
DEVICE void pool_window(const struct max_pool2d_args *k, unsigned line, unsigned x, unsigned c,
                        unsigned type, unsigned each, float *most, unsigned *which)
{
    unsigned image = line / k->height, y = line % k->height;
    bool found = false;

    for (unsigned q = 0; q < 9; q++) {
        unsigned row = 2 * y + q / 3 - 1, column = 2 * x + q % 3 - 1; /* -1 wraps around */
        float v[GPU_MOST_CHUNK];

        if (row >= k->large_height || column >= k->large_width)
            continue;
        gpu_load_some(k->src,
                      ((image * k->large_height + row) * k->large_width + column) * k->channels + c,
                      type, each, v);
        for (unsigned j = 0; j < each; j++)
            if (!found || v[j] > most[j]) {
                which[j] = q;
                most[j] = v[j];
            }
        found = true;
    }
}

DEVICE void max_pool2d_wide_some(const struct max_pool2d_args *k, unsigned i, unsigned type,
                                 unsigned each)
{
    unsigned pixel = i / k->channels, which[GPU_MOST_CHUNK] = {0};
    float most[GPU_MOST_CHUNK] = {0};

    pool_window(k, pixel / k->width, pixel % k->width, i % k->channels, type, each, most, which);
    gpu_store_some(k->dst, i, type, each, most);
}

/* Sums dy of the windows whose first largest number is this pixel's; n: elements of the large
 * tensor. */
DEVICE void max_pool2d_wide_grad_some(const struct max_pool2d_args *k, unsigned i, unsigned type,
                                      unsigned each)
{
    unsigned pixel = i / k->channels, c = i % k->channels;
    unsigned column = pixel % k->large_width, line = pixel / k->large_width;
    unsigned row = line % k->large_height, first = line / k->large_height * k->height;
    float sum[GPU_MOST_CHUNK] = {0}, v[GPU_MOST_CHUNK], most[GPU_MOST_CHUNK] = {0};
    unsigned which[GPU_MOST_CHUNK] = {0};

    for (unsigned y = row / 2; y <= (row + 1) / 2 && y < k->height; y++)
        for (unsigned x = column / 2; x <= (column + 1) / 2 && x < k->width; x++) {
            unsigned q = (row + 1 - 2 * y) * 3 + column + 1 - 2 * x;

            pool_window(k, first + y, x, c, type, each, most, which);
            gpu_load_some(k->dy, ((first + y) * k->width + x) * k->channels + c, type, each, v);
            for (unsigned j = 0; j < each; j++)
                sum[j] += which[j] == q ? v[j] : 0;
        }
    if (k->added)
        gpu_load_some(k->added, i, type, each, v);
    for (unsigned j = 0; k->added && j < each; j++)
        sum[j] += v[j];
    gpu_store_some(k->dst, i, type, each, sum);
}

CHUNKED_KERNEL(max_pool2d, max_pool2d_args, k->n, k->channels)
CHUNKED_KERNEL(max_pool2d_wide, max_pool2d_args, k->n, k->channels)
CHUNKED_KERNEL(max_pool2d_wide_grad, max_pool2d_args, k->n, k->channels)
CHUNKED_KERNEL(max_pool2d_edge, max_pool2d_args, k->n, k->channels)

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
    enum dtype t = op->out[0]->dtype;

    k.src = op->in[0]->data;
    k.dst = op->out[0]->data;
    if (op->attr.kernel == 3)
        LAUNCH_CHUNKED(t, max_pool2d_wide, k.n, k.channels, x->device->stream, k);
    else
        LAUNCH_CHUNKED(t, max_pool2d, k.n, k.channels, x->device->stream, k);
    return 0;
}

static int run_max_pool2d_grad(struct op *op, struct exec *x, struct err *e)
{
    bool adds = op->kind == &max_pool2d_grad_add_kind;
    const struct tensor *dy = op->in[adds], *src = op->in[1 + adds];
    struct max_pool2d_args k = pool_of(dy, src);
    enum dtype t = src->dtype;

    k.dy = dy->data;
    k.src = src->data;
    k.added = adds ? op->in[0]->data : NULL;
    k.dst = op->out[0]->data;
    if (op->attr.kernel != 3)
        LAUNCH_CHUNKED(t, max_pool2d, k.n, k.channels, x->device->stream, k);
    k.n = (unsigned)tensor_count(src);
    if (op->attr.kernel == 3)
        LAUNCH_CHUNKED(t, max_pool2d_wide_grad, k.n, k.channels, x->device->stream, k);
    else if (k.large_height > 2 * k.height || k.large_width > 2 * k.width)
        LAUNCH_CHUNKED(t, max_pool2d_edge, k.n, k.channels, x->device->stream, k);
    return 0;
}

CUDA_KERNEL(max_pool2d, cuda_supports_one_type, NULL, run_max_pool2d, KERNEL_ANY);
CUDA_KERNEL(max_pool2d_grad, cuda_supports_one_type, NULL, run_max_pool2d_grad, KERNEL_ANY);
CUDA_KERNEL(max_pool2d_grad_add, cuda_supports_one_type, NULL, run_max_pool2d_grad, KERNEL_ANY);

C_END

/* Means over 2x2 pixels, subsampling of every second pixel, their gradients, and that of means over
 * whole images (elementwise.cu), for any type: 16 bytes of the result per thread, or a number where
 * they do not divide the channels. */

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

DEVICE void shrink_some(const struct shrink_args *k, unsigned i, unsigned type, unsigned each)
{
    unsigned c = i % k->channels - k->before; /* wraps around below 0 */
    unsigned pixel = i / k->channels, row = pixel / k->width, y = row % k->height;
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
    gpu_store_some(k->dst, i, type, each, sum);
}

/* A last row or column that means left out gets 0. */
DEVICE void shrink_grad_some(const struct shrink_args *k, unsigned i, unsigned type, unsigned each)
{
    unsigned c = i % k->large_channels + k->before;
    unsigned pixel = i / k->large_channels, row = pixel / k->large_width;
    unsigned x = pixel % k->large_width, y = row % k->large_height;
    unsigned line = row / k->large_height * k->height + y / 2;
    float v[GPU_MOST_CHUNK] = {0};

    if (k->mean ? y / 2 < k->height && x / 2 < k->width : !((x | y) & 1))
        gpu_load_some(k->src, (line * k->width + x / 2) * k->channels + c, type, each, v);
    for (unsigned j = 0; k->mean && j < each; j++)
        v[j] *= 0.25f;
    gpu_store_some(k->dst, i, type, each, v);
}

/* Twice the height and width, and its gradient; the small tensor's sides. */
struct upsample_args {
    const void *src;
    void *dst;
    unsigned height, width, channels, n; /* n: elements of dst */
    bool bilinear;
};

/* As beside() of backends/ref/pool.c. */
DEVICE unsigned upsample_beside(unsigned at, unsigned n)
{
    return at % 2 ? (at / 2 + 1 < n ? at / 2 + 1 : n - 1) : at > 1 ? at / 2 - 1 : 0;
}

DEVICE void upsample_some(const struct upsample_args *k, unsigned i, unsigned type, unsigned each)
{
    unsigned c = i % k->channels, pixel = i / k->channels;
    unsigned x = pixel % (2 * k->width), line = pixel / (2 * k->width);
    unsigned y = line % (2 * k->height), first = line / (2 * k->height) * k->height;
    unsigned rows[2] = {first + y / 2, first + upsample_beside(y, k->height)};
    unsigned columns[2] = {x / 2, upsample_beside(x, k->width)};
    float sum[GPU_MOST_CHUNK] = {0}, v[GPU_MOST_CHUNK];

    for (unsigned q = 0; q < (k->bilinear ? 4 : 1); q++) {
        float share = !k->bilinear || q == 0 ? 9 : q == 3 ? 1 : 3;

        gpu_load_some(k->src, (rows[q / 2] * k->width + columns[q % 2]) * k->channels + c, type,
                      each, v);
        for (unsigned j = 0; j < each; j++)
            sum[j] = k->bilinear ? sum[j] + share * v[j] : v[j];
    }
    for (unsigned j = 0; k->bilinear && j < each; j++)
        sum[j] /= 16;
    gpu_store_some(k->dst, i, type, each, sum);
}

/* As share_of() of backends/ref/pool.c; offset: one more. */
DEVICE float upsample_share(const struct upsample_args *k, unsigned at, unsigned n, unsigned offset)
{
    bool inner = offset < 2 ? at > 0 : at + 1 < n, near = offset == 1 || offset == 2;

    return !k->bilinear ? near : near ? inner ? 0.75f : 1 : inner ? 0.25f : 0;
}

DEVICE void upsample_grad_some(const struct upsample_args *k, unsigned i, unsigned type,
                               unsigned each)
{
    unsigned c = i % k->channels, pixel = i / k->channels;
    unsigned x = pixel % k->width, line = pixel / k->width, y = line % k->height;
    float sum[GPU_MOST_CHUNK] = {0}, v[GPU_MOST_CHUNK];

    for (unsigned q = 0; q < 16; q++) {
        float share = upsample_share(k, y, k->height, q / 4) *
                      upsample_share(k, x, k->width, q % 4);

        if (share <= 0)
            continue;
        gpu_load_some(k->src, ((2 * line + q / 4 - 1) * 2 * k->width + 2 * x + q % 4 - 1) *
                                  k->channels + c, type, each, v);
        for (unsigned j = 0; j < each; j++)
            sum[j] += share * v[j];
    }
    gpu_store_some(k->dst, i, type, each, sum);
}

CHUNKED_KERNEL(upsample, upsample_args, k->n, k->channels)
CHUNKED_KERNEL(upsample_grad, upsample_args, k->n, k->channels)
CHUNKED_KERNEL(shrink, shrink_args, k->n, SHRINK_LENGTH(k))
CHUNKED_KERNEL(shrink_grad, shrink_args, k->n, SHRINK_LENGTH(k))

struct global_args {
    const void *src;
    void *dst;
    unsigned npixels, channels, n; /* of an image; n: elements of dst */
};

DEVICE void global_avg_pool_grad_some(const struct global_args *k, unsigned i, unsigned type,
                                      unsigned each)
{
    unsigned image = i / k->channels / k->npixels;
    float v[GPU_MOST_CHUNK];

    gpu_load_some(k->src, image * k->channels + i % k->channels, type, each, v);
    for (unsigned j = 0; j < each; j++)
        v[j] /= (float)k->npixels;
    gpu_store_some(k->dst, i, type, each, v);
}

CHUNKED_KERNEL(global_avg_pool_grad, global_args, k->n, k->channels)

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

static int run_shrink(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->out[0], op->in[0]);

    LAUNCH_CHUNKED(op->out[0]->dtype, shrink, k.n, SHRINK_LENGTH(&k), x->device->stream, k);
    return 0;
}

static int run_upsample(struct op *op, struct exec *x, struct err *e)
{
    bool grad = op->kind == &upsample2d_grad_kind;
    const struct tensor *dst = op->out[0], *small = grad ? dst : op->in[0];
    struct upsample_args k = {op->in[0]->data, dst->data, (unsigned)small->shape.dim[DIM_H],
                              (unsigned)small->shape.dim[DIM_W], (unsigned)tensor_channels(dst),
                              (unsigned)tensor_count(dst), op->attr.bilinear};

    if (grad)
        LAUNCH_CHUNKED(dst->dtype, upsample_grad, k.n, k.channels, x->device->stream, k);
    else
        LAUNCH_CHUNKED(dst->dtype, upsample, k.n, k.channels, x->device->stream, k);
    return 0;
}

static int run_shrink_grad(struct op *op, struct exec *x, struct err *e)
{
    struct shrink_args k = shrink_of(op, op->in[0], op->out[0]);

    LAUNCH_CHUNKED(op->out[0]->dtype, shrink_grad, k.n, SHRINK_LENGTH(&k), x->device->stream, k);
    return 0;
}

static int run_global_avg_pool_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dx = op->out[0];
    struct global_args k = {op->in[0]->data, dx->data,
                            (unsigned)(tensor_pixels(dx) / (size_t)dx->shape.dim[DIM_N]),
                            (unsigned)tensor_channels(dx), (unsigned)tensor_count(dx)};

    LAUNCH_CHUNKED(dx->dtype, global_avg_pool_grad, k.n, k.channels, x->device->stream, k);
    return 0;
}

CUDA_KERNEL(avg_pool2d, cuda_supports_one_type, NULL, run_shrink, KERNEL_ANY);
CUDA_KERNEL(avg_pool2d_grad, cuda_supports_one_type, NULL, run_shrink_grad, KERNEL_ANY);
CUDA_KERNEL(upsample2d, cuda_supports_one_type, NULL, run_upsample, KERNEL_ANY);
CUDA_KERNEL(upsample2d_grad, cuda_supports_one_type, NULL, run_upsample, KERNEL_ANY);
CUDA_KERNEL(subsample, cuda_supports_one_type, NULL, run_shrink, KERNEL_ANY);
CUDA_KERNEL(subsample_grad, cuda_supports_one_type, NULL, run_shrink_grad, KERNEL_ANY);
CUDA_KERNEL(global_avg_pool_grad, cuda_supports_one_type, NULL,
            run_global_avg_pool_grad, KERNEL_ANY);

C_END
