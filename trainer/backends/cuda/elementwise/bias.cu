/* SPDX-License-Identifier: BSD-3-Clause */
/* bias and its gradient, as ops and around the convolutions of cuDNN, and means over the pixels of
 * images: 16 bytes per thread, or a number where they do not divide the channels. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

struct bias_args {
    const void *src;
    const float *bias; /* may be NULL */
    void *dst; /* may be src */
    bool widens; /* src has 16 bits, dst are floats */
    unsigned channels, n;
    bool relu; /* negative results become 0 */
};

DEVICE void bias_some(const struct bias_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        float y[GPU_MOST_CHUNK];
        unsigned c = i * each % k->channels;

        gpu_load_some(k->src, i * each, type, each, y);
        for (unsigned j = 0; j < each; j++) {
            y[j] += k->bias ? k->bias[c + j] : 0;
            y[j] = k->relu ? fmaxf(y[j], 0.f) : y[j];
        }
        if (k->widens)
            gpu_store_some(k->dst, i * each, DTYPE_F32, each, y);
        else
            gpu_store_some(k->dst, i * each, type, each, y);
    }
}

CHUNKED_KERNEL(bias, bias_args, k->channels)

struct sum_args {
    const void *src;
    double *partials; /* [nparts][channels]: sums over a part of the pixels; NULL: means are made */
    void *dst;        /* [channels] floats; of means [nparts][channels] of the type of src */
    unsigned *counter;
    unsigned channels, npixels, nparts;
};

/* Adds up `each` channels over the pixels of a thread. */
DEVICE void add_pixels(const struct sum_args *k, double *sum, const struct gpu_share *s,
                       unsigned type, unsigned each)
{
    for (unsigned i = s->begin; i < s->end;) {
        float some[GPU_MOST_CHUNK] = {0}, v[GPU_MOST_CHUNK];

        for (unsigned n = 0; n < GPU_FLOATS && i < s->end; n++, i += s->step) {
            gpu_load_some(k->src, i * k->channels + s->column * each, type, each, v);
            for (unsigned j = 0; j < each; j++)
                some[j] += v[j];
        }
        for (unsigned j = 0; j < each; j++)
            sum[j] += (double)some[j];
    }
}

/* A block sums up one part of the pixels, its threads in rows of a pixel's channels. */
DEVICE void sum_pixels_part(const struct sum_args *k, double *sums, unsigned type, unsigned each)
{
    unsigned ncolumns = k->channels / each, t = threadIdx.x;

    for (unsigned first = 0; first < ncolumns; first += GPU_BLOCK) {
        struct gpu_share s = gpu_share(k->npixels, k->nparts, blockIdx.x, ncolumns, first);
        double sum[GPU_MOST_CHUNK] = {0};

        add_pixels(k, sum, &s, type, each);
        for (unsigned j = 0; j < each; j++)
            sums[j * GPU_BLOCK + t] = sum[j];
        gpu_add_rows(sums, each, s.width);
        for (unsigned j = 0; s.row == 0 && j < each; j++) {
            size_t at = blockIdx.x * k->channels + s.column * each + j;
            double all = sums[j * GPU_BLOCK + t];

            if (k->partials)
                k->partials[at] = all;
            else
                gpu_store(k->dst, at, type, (float)(all / (k->npixels / k->nparts)));
        }
    }
}

/* The last block adds up the parts. */
DEVICE void sum_pixels_as(const struct sum_args *k, unsigned type)
{
    SHARED(double, sums, GPU_MOST_CHUNK * GPU_BLOCK);
    SHARED(unsigned, last, 1);
    unsigned n = k->channels;

    CHUNKED(k->channels, type, sum_pixels_part, k, sums);
    if (!k->partials || !gpu_is_last(k->counter, last))
        return;
    for (unsigned first = 0; first < n; first += GPU_BLOCK) {
        unsigned width = n - first < GPU_BLOCK ? n - first : GPU_BLOCK;
        double sum = gpu_add_parts(k->partials + first, n, k->nparts, width, sums);

        if (threadIdx.x < width)
            ((float *)k->dst)[first + threadIdx.x] = (float)sum;
    }
}

TYPED_KERNEL_BLOCK(sum_pixels, sum_args)

C_BEGIN

static void add_bias(struct device *d, const struct tensor *x, const struct tensor *bias,
                     const struct tensor *y, bool relu)
{
    struct bias_args k = {x->data, bias ? bias->data : NULL, y->data, x->dtype != y->dtype,
                          (unsigned)tensor_channels(y), (unsigned)tensor_count(y), relu};

    LAUNCH_AS(x->dtype, bias, gpu_blocks(k.n / GPU_EACH(k.channels, x->dtype)), d->stream, k);
}

void cuda_add_bias(struct device *d, const struct tensor *y, const struct tensor *bias, bool relu)
{
    add_bias(d, y, bias, y, relu);
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

void cuda_sum_bias(struct device *d, const struct tensor *dy, const struct tensor *db,
                   void *workspace)
{
    struct sum_args k = {dy->data, (double *)workspace, db->data, d->counter,
                         (unsigned)tensor_channels(dy), (unsigned)tensor_pixels(dy),
                         bias_parts(dy)};

    LAUNCH_AS(dy->dtype, sum_pixels, k.nparts, d->stream, k);
}

static bool supports_bias(const struct op *op)
{
    return cuda_supports(op) &&
           (op->out[0]->dtype == op->in[0]->dtype || op->out[0]->dtype == DTYPE_F32);
}

static int run_bias(struct op *op, struct exec *x, struct err *e)
{
    add_bias(x->device, op->in[0], op->in[1], op->out[0], false);
    return 0;
}

static int prepare_bias_grad(struct op *op, struct err *e)
{
    op->workspace_size = cuda_sum_bias_size(op->in[0]);
    return 0;
}

static int run_bias_grad(struct op *op, struct exec *x, struct err *e)
{
    cuda_sum_bias(x->device, op->in[0], op->out[0], op->workspace);
    return 0;
}

static int run_global_avg_pool(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    struct sum_args k = {src->data, NULL, op->out[0]->data, NULL, (unsigned)tensor_channels(src),
                         (unsigned)tensor_pixels(src), (unsigned)src->shape.dim[DIM_N]};

    LAUNCH_AS(src->dtype, sum_pixels, k.nparts, x->device->stream, k);
    return 0;
}

const struct kernel cuda_bias = {
    &bias_kind, supports_bias, NULL, run_bias, NULL, KERNEL_ANY};
const struct kernel cuda_bias_grad = {
    &bias_grad_kind, cuda_supports, prepare_bias_grad, run_bias_grad, NULL, KERNEL_ANY};
const struct kernel cuda_global_avg_pool = {
    &global_avg_pool_kind, cuda_supports_one_type, NULL, run_global_avg_pool, NULL, KERNEL_ANY};

C_END
