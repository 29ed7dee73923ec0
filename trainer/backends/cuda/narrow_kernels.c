/* SPDX-License-Identifier: BSD-3-Clause */
/* The convolutions of few channels as kernels of ops: bfloat16, 3x3, stride 1. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

#include "trainer/backends/cuda/narrow_back.h"
#include "trainer/backends/cuda/narrow_conv.h"

bool cuda_has_bf16(void)
{
    int device = 0, major = 0;

    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           major >= 8;
}

unsigned cuda_resident(unsigned each, size_t n)
{
    int device = 0, nprocessors = 1;

    if (cudaGetDevice(&device) == cudaSuccess)
        (void)cudaDeviceGetAttribute(&nprocessors, cudaDevAttrMultiProcessorCount, device);
    size_t most = (size_t)nprocessors * each;
    return (unsigned)(n < most ? n : most);
}

static bool is_bf16(const struct tensor *t)
{
    return t->dtype == DTYPE_BF16;
}

static unsigned channels_of(const struct tensor *t)
{
    return (unsigned)tensor_channels(t);
}

static struct narrow_field field_of(const struct tensor *t)
{
    return narrow_field((unsigned)t->shape.dim[DIM_N], (unsigned)t->shape.dim[DIM_H],
                        (unsigned)t->shape.dim[DIM_W]);
}

/* (x or dy, w, ...) -> y or dx. A gradient to a tensor of another size is one of stride 2. */
static bool supports_narrow_conv(const struct op *op)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];

    return is_bf16(src) && is_bf16(dst) && op->attr.kernel == 3 && op->attr.stride <= 1 &&
           narrow_conv_resident(channels_of(src), channels_of(dst)) && cuda_supports(op) &&
           cuda_has_bf16();
}

static bool supports_narrow_weights(const struct op *op)
{
    const struct tensor *dy = op->in[0], *x = op->in[1];

    return is_bf16(dy) && is_bf16(x) && op->attr.kernel == 3 && op->attr.stride <= 1 &&
           narrow_back_resident(channels_of(x), channels_of(dy), false) && cuda_supports(op) &&
           cuda_has_bf16();
}

static struct narrow_source source_of(const struct tensor *t)
{
    struct narrow_source s = {{t->half, NULL, NULL, channels_of(t), NARROW_PLAIN}, {0}};

    return s;
}

static void narrow_convolve(const struct op *op, const float *bias, bool backwards, struct exec *x)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    unsigned in = channels_of(src), out = channels_of(dst);
    struct narrow_args k = {.field = field_of(dst), .src = source_of(src), .w = op->in[1]->data,
                            .bias = bias, .w_out = backwards ? 9 : 9 * in,
                            .w_in = backwards ? 9 * out : 9, .flip = backwards,
                            .first = {dst->half, NULL, NULL, out}};

    narrow_conv_run(&k, cuda_resident(narrow_conv_resident(in, out), k.field.ntiles),
                    x->device->stream);
}

static int run_narrow_conv(struct op *op, struct exec *x, struct err *e)
{
    (void)e;
    narrow_convolve(op, op->kind->nin > 2 ? op->in[2]->data : NULL, false, x);
    return 0;
}

static int run_narrow_grad_input(struct op *op, struct exec *x, struct err *e)
{
    (void)e;
    narrow_convolve(op, NULL, true, x);
    return 0;
}

static unsigned back_blocks(const struct tensor *act, const struct tensor *dy)
{
    return cuda_resident(narrow_back_resident(channels_of(act), channels_of(dy), false),
                         field_of(dy).ntiles);
}

static int prepare_narrow_weights(struct op *op, struct err *e)
{
    const struct tensor *dy = op->in[0], *act = op->in[1];

    (void)e;
    op->workspace_size = narrow_back_bytes(channels_of(act), channels_of(dy),
                                           back_blocks(act, dy), op->kind->nout > 1);
    return 0;
}

static int run_narrow_weights(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *act = op->in[1];
    struct narrow_back_args k = {.input = {.field = field_of(dy), .src = source_of(dy)},
                                 .act = source_of(act), .partials = op->workspace,
                                 .with_bias = op->kind->nout > 1};

    (void)e;
    narrow_back_run(&k, back_blocks(act, dy), op->out[0]->data,
                    k.with_bias ? op->out[1]->data : NULL, x->device->stream);
    return 0;
}

const struct kernel cuda_narrow_conv2d = {&conv2d_kind, supports_narrow_conv, NULL, run_narrow_conv, NULL};
const struct kernel cuda_narrow_conv2d_nobias = {&conv2d_nobias_kind, supports_narrow_conv, NULL, run_narrow_conv,
                                                 NULL};
const struct kernel cuda_narrow_conv2d_grad_input = {&conv2d_grad_input_kind, supports_narrow_conv, NULL,
                                                     run_narrow_grad_input, NULL};
const struct kernel cuda_narrow_conv2d_grad_weights = {
    &conv2d_grad_weights_kind, supports_narrow_weights, prepare_narrow_weights, run_narrow_weights, NULL};
const struct kernel cuda_narrow_conv2d_nobias_grad_weights = {
    &conv2d_nobias_grad_weights_kind, supports_narrow_weights, prepare_narrow_weights, run_narrow_weights, NULL};
