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

DEVICE void bias_as(const struct bias_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        float y = gpu_load(k->src, i, type) + (k->bias ? k->bias[i % k->channels] : 0);

        gpu_store(k->dst, i, k->to, k->relu ? fmaxf(y, 0.f) : y);
    }
}

TYPED_KERNEL(bias, bias_args)

/* Partial sums of each channel over a part of the pixels. */
struct sum_bias_args {
    const void *dy;
    double *partials; /* [nparts][channels] */
    float *db;
    unsigned channels, type, npixels, nparts;
};

KERNEL(sum_bias_parts, sum_bias_args)
{
    unsigned each = (k.npixels + k.nparts - 1) / k.nparts;

    for (unsigned i = gpu_index(); i < k.channels * k.nparts; i += gpu_stride()) {
        unsigned begin = i / k.channels * each,
                 end = begin + each < k.npixels ? begin + each : k.npixels;
        double sum = 0;

        for (unsigned p = begin; p < end; p++)
            sum += (double)gpu_load(k.dy, (size_t)p * k.channels + i % k.channels, k.type);
        k.partials[i] = sum;
    }
}

KERNEL(sum_bias, sum_bias_args)
{
    for (unsigned c = gpu_index(); c < k.channels; c += gpu_stride()) {
        double sum = 0;

        for (unsigned part = 0; part < k.nparts; part++)
            sum += k.partials[part * k.channels + c];
        k.db[c] = (float)sum;
    }
}

C_BEGIN

static void add_bias(struct device *d, const struct tensor *x, const struct tensor *bias,
                     const struct tensor *y, bool relu)
{
    struct bias_args k = {x->data, bias ? bias->data : NULL, y->data, (unsigned)y->dtype,
                          (unsigned)tensor_channels(y), (unsigned)tensor_count(y), relu};

    LAUNCH_AS(x->dtype, bias, gpu_blocks(k.n), d->stream, k);
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
    struct sum_bias_args k = {dy->data,
                              (double *)workspace,
                              db->data,
                              (unsigned)tensor_channels(dy),
                              (unsigned)dy->dtype,
                              (unsigned)tensor_pixels(dy),
                              bias_parts(dy)};

    LAUNCH(sum_bias_parts, gpu_blocks((size_t)k.channels * k.nparts), d->stream, k);
    LAUNCH(sum_bias, gpu_blocks(k.channels), d->stream, k);
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

const struct kernel cuda_bias = {&bias_kind, cuda_supports, NULL, run_bias, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_bias_grad = {
    &bias_grad_kind, cuda_supports, prepare_bias_grad, run_bias_grad, NULL, 0, 0, KERNEL_ANY};

C_END
