/* SPDX-License-Identifier: BSD-3-Clause */
/* bias and its gradient, as ops and around the convolutions of cuDNN. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

struct bias_args {
    const void *src;
    const float *bias; /* may be NULL */
    void *dst; /* may be src */
    unsigned to; /* type of dst */
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
        if (k->to == type)
            gpu_store_some(k->dst, i * each, type, each, y);
        else
            for (unsigned j = 0; j < each; j++)
                gpu_store(k->dst, i * each + j, k->to, y[j]);
    }
}

CHUNKED_KERNEL(bias, bias_args, k->channels)

struct sum_bias_args {
    const void *dy;
    double *partials; /* [nparts][channels]: sums over a part of the pixels */
    float *db;
    unsigned *counter;
    unsigned channels, npixels, nparts;
};

/* A block sums up one part of the pixels, its threads in rows of a pixel's channels; the last block
 * adds up the parts. */
DEVICE void sum_bias_as(const struct sum_bias_args *k, unsigned type)
{
    SHARED(double, sums, GPU_BLOCK);
    SHARED(double, none, GPU_BLOCK);
    SHARED(unsigned, last, 1);
    unsigned t = threadIdx.x, n = k->channels, each = (k->npixels + k->nparts - 1) / k->nparts;

    none[t] = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        unsigned begin = pass ? 0 : blockIdx.x * each, most = pass ? k->nparts : k->npixels;
        unsigned end = !pass && begin + each < most ? begin + each : most;

        if (pass && !gpu_is_last(k->counter, last))
            return;
        for (unsigned first = 0; first < n; first += GPU_BLOCK) {
            unsigned width = n - first < GPU_BLOCK ? n - first : GPU_BLOCK;
            unsigned rows = GPU_BLOCK / width, row = t / width, c = first + t % width;
            double sum = 0;

            for (unsigned i = begin + row; row < rows && i < end; i += rows)
                sum += pass ? k->partials[i * n + c] : (double)gpu_load(k->dy, i * n + c, type);
            sums[t] = sum;
            gpu_add_rows(sums, none, 1, width, rows);
            if (row == 0 && pass)
                k->db[c] = (float)sums[t];
            else if (row == 0)
                k->partials[blockIdx.x * n + c] = sums[t];
        }
    }
}

TYPED_KERNEL_BLOCK(sum_bias, sum_bias_args)

C_BEGIN

static void add_bias(struct device *d, const struct tensor *x, const struct tensor *bias,
                     const struct tensor *y, bool relu)
{
    struct bias_args k = {x->data, bias ? bias->data : NULL, y->data, (unsigned)y->dtype,
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
    struct sum_bias_args k = {dy->data, (double *)workspace, db->data, d->counter,
                              (unsigned)tensor_channels(dy), (unsigned)tensor_pixels(dy),
                              bias_parts(dy)};

    LAUNCH_AS(dy->dtype, sum_bias, k.nparts, d->stream, k);
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

const struct kernel cuda_bias = {&bias_kind, cuda_supports, NULL, run_bias, NULL, KERNEL_ANY};
const struct kernel cuda_bias_grad = {
    &bias_grad_kind, cuda_supports, prepare_bias_grad, run_bias_grad, NULL, KERNEL_ANY};

C_END
