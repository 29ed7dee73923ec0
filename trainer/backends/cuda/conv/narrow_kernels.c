/* SPDX-License-Identifier: BSD-3-Clause */
/* The convolutions of few channels as kernels of ops: bfloat16, 3x3 with stride 1, 2x2 transposed
 * with stride 2. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#include "trainer/backends/cuda/conv/narrow_back.h"
#include "trainer/backends/cuda/conv/narrow_conv.h"
#include "trainer/backends/cuda/conv/narrow_op.h"
#include "trainer/backends/cuda/conv/narrow_up.h"

static bool is_bf16(const struct tensor *t)
{
    return t->dtype == DTYPE_BF16;
}

/* Channels as the kernels are made for them: an image of floats becomes 8; 0: of another type. */
static unsigned source_channels(const struct tensor *t)
{
    return is_bf16(t)                                            ? narrow_op_channels(t)
           : t->dtype == DTYPE_F32 && narrow_op_channels(t) <= 8 ? 8
                                                                 : 0;
}

/* Of a tensor, or with a second one of both, which then are chunks of bfloat16; 0: of other
 * types. */
static unsigned pair_channels(const struct tensor *a, const struct tensor *b)
{
    if (!b)
        return source_channels(a);
    if (!is_bf16(a) || !is_bf16(b) || narrow_op_channels(a) % 8 || narrow_op_channels(b) % 8)
        return 0;
    return narrow_op_channels(a) + narrow_op_channels(b);
}

static unsigned channels_from(const struct op *op)
{
    return pair_channels(op->in[0], op->in[OP_SECOND]);
}

static unsigned channels_to(const struct op *op)
{
    const struct tensor *y = op->out[0];

    return is_bf16(y) ? pair_channels(y, op->out[OP_OUT_SECOND]) : 0;
}

/* A convolution, or its gradient of the input. A gradient to a tensor of another size is one of
 * stride 2. */
static bool supports_narrow_conv(const struct op *op)
{
    return narrow_op_is_3x3(op) && channels_from(op) && channels_to(op) &&
           (is_bf16(op->in[0]) || !op->in[OP_COEF]) &&
           narrow_conv_resident(channels_from(op), channels_to(op)) && cuda_supports(op) &&
           cuda_has_bf16();
}

/* Of x, and a second tensor or NULL, each behind a norm of these coefficients or NULL. */
static struct narrow_source source_of(const struct tensor *x, const struct tensor *coef,
                                      const struct tensor *second,
                                      const struct tensor *second_coef)
{
    struct narrow_part image = {.image = x->data, .channels = narrow_op_channels(x),
                                .form = NARROW_IMAGE};
    struct narrow_source src = {.first = is_bf16(x) ? narrow_op_source(x, coef) : image};

    if (second)
        src.second = narrow_op_source(second, second_coef);
    return src;
}

static unsigned conv_blocks(const struct op *op)
{
    return cuda_resident(narrow_conv_resident(channels_from(op), channels_to(op)),
                         narrow_op_field(op->out[0]).ntiles);
}

/* Workspace: parts of the moments. */
static int prepare_narrow_conv(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = cuda_moments_size(op, conv_blocks(op));
    return 0;
}

/* Channels of the source that have weights: all but the zeros that fill up an image. */
static unsigned count_weighted(const struct op *op)
{
    return is_bf16(op->in[0]) ? channels_from(op) : narrow_op_channels(op->in[0]);
}

static int convolve_narrow(const struct op *op, const float *bias, bool backwards, struct exec *x)
{
    const struct tensor *first = op->out[0], *second = op->out[OP_OUT_SECOND];
    unsigned in = count_weighted(op), out = channels_to(op), nblocks = conv_blocks(op);
    struct narrow_args k = {.field = narrow_op_field(first),
                            .src = source_of(op->in[0], op->in[OP_COEF], op->in[OP_SECOND],
                                             op->in[OP_SECOND_COEF]),
                            .w = op->in[1]->data, .bias = bias, .w_out = backwards ? 9 : 9 * in,
                            .w_in = backwards ? 9 * out : 9, .flip = backwards, .nw = in,
                            .first = {first->half, NULL, NULL, narrow_op_channels(first)},
                            .form = op->out[OP_OUT_MOMENTS] ? NARROW_SQUARES : NARROW_NO_SUMS,
                            .sums = op->workspace};

    if (second)
        k.second = (struct narrow_result){second->half, NULL, NULL, narrow_op_channels(second)};
    narrow_conv_run(&k, nblocks, x->device->stream);
    cuda_moments_finish(op, k.sums, nblocks, x);
    return 0;
}

static int run_narrow_conv(struct op *op, struct exec *x, struct err *e)
{
    (void)e;
    return convolve_narrow(op, op->in[2] ? op->in[2]->data : NULL, false, x);
}

static int run_narrow_grad_input(struct op *op, struct exec *x, struct err *e)
{
    (void)e;
    return convolve_narrow(op, NULL, true, x);
}

static unsigned weights_channels(const struct op *op)
{
    return pair_channels(op->in[2], op->in[OP_SECOND]);
}

static bool supports_narrow_weights(const struct op *op)
{
    const struct tensor *dy = op->in[0], *x = op->in[OP_NORM_GRAD_X];

    return is_bf16(dy) && (!x || is_bf16(x)) && narrow_op_is_3x3(op) &&
           weights_channels(op) &&
           narrow_back_resident(weights_channels(op), narrow_op_channels(dy), false) &&
           cuda_supports(op) && cuda_has_bf16();
}

static unsigned weights_blocks(const struct op *op)
{
    const struct tensor *dy = op->in[0];

    return cuda_resident(narrow_back_resident(weights_channels(op), narrow_op_channels(dy), false),
                         narrow_op_field(dy).ntiles);
}

static int prepare_narrow_weights(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = narrow_back_bytes(weights_channels(op), narrow_op_channels(op->in[0]),
                                           weights_blocks(op), op->out[2] != NULL, NARROW_TAPS);
    return 0;
}

static int run_narrow_weights(struct op *op, struct exec *x, struct err *e)
{
    struct narrow_back_args k = {
        .input = {.field = narrow_op_field(op->in[0]), .src.first = narrow_op_gradient(op)},
        .act = source_of(op->in[2], NULL, op->in[OP_SECOND], NULL), .partials = op->workspace,
        .with_bias = op->out[2] != NULL};

    (void)e;
    narrow_back_run(&k, weights_blocks(op), op->out[1]->data,
                    k.with_bias ? op->out[2]->data : NULL, x->device->stream);
    return 0;
}

/* (x, w[I][O][2][2], b) -> y */
static bool supports_narrow_up(const struct op *op)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];

    return is_bf16(src) && is_bf16(dst) &&
           narrow_up_resident(narrow_op_channels(src), narrow_op_channels(dst)) &&
           cuda_supports(op) && cuda_has_bf16();
}

static int run_narrow_up(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    unsigned in = narrow_op_channels(src), out = narrow_op_channels(dst);
    struct narrow_args k = {.field = narrow_op_field(src),
                            .src.first = narrow_op_source(op->in[0], op->in[OP_COEF]),
                            .w = op->in[1]->data,
                            .bias = op->in[2]->data,
                            .w_out = 4,
                            .w_in = 4 * out,
                            .nw = in,
                            .first = {dst->half, NULL, NULL, out}};

    (void)e;
    narrow_up_run(&k, cuda_resident(narrow_up_resident(in, out), k.field.ntiles),
                  x->device->stream);
    return 0;
}

/* dx or x. */
static const struct tensor *small_of(const struct op *op)
{
    return op->out[0] ? op->out[0] : op->in[2];
}

static bool supports_narrow_back_up(const struct op *op)
{
    return is_bf16(op->in[0]) && is_bf16(small_of(op)) && cuda_supports(op) && cuda_has_bf16() &&
           narrow_back_up_resident(narrow_op_channels(small_of(op)), narrow_op_channels(op->in[0]));
}

static unsigned back_up_blocks(const struct op *op)
{
    return cuda_resident(
        narrow_back_up_resident(narrow_op_channels(small_of(op)), narrow_op_channels(op->in[0])),
        narrow_op_field(small_of(op)).ntiles);
}

static int run_narrow_down(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *dx = op->out[0];
    unsigned in = narrow_op_channels(dy), out = narrow_op_channels(dx);
    struct narrow_back_args k = {.input = {.field = narrow_op_field(dx),
                                           .src = source_of(dy, NULL, NULL, NULL),
                                           .w = op->in[1]->data,
                                           .w_out = 4 * in,
                                           .w_in = 4,
                                           .nw = in,
                                           .first = {dx->half, NULL, NULL, out}},
                                 .act = {.first = {.channels = out}}};

    (void)e;
    narrow_back_up_run(&k, back_up_blocks(op), NULL, NULL, x->device->stream);
    return 0;
}

static int prepare_narrow_up_weights(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size =
        narrow_back_bytes(narrow_op_channels(op->in[2]), narrow_op_channels(op->in[0]),
                          back_up_blocks(op), op->out[2] != NULL, NARROW_UP_TAPS);
    return 0;
}

static int run_narrow_up_weights(struct op *op, struct exec *x, struct err *e)
{
    struct narrow_back_args k = {
        .input = {.field = narrow_op_field(op->in[2]),
                  .src = source_of(op->in[0], NULL, NULL, NULL)},
        .act = source_of(op->in[2], NULL, NULL, NULL), .partials = op->workspace,
        .with_bias = op->out[2] != NULL};

    (void)e;
    narrow_back_up_run(&k, back_up_blocks(op), op->out[1]->data,
                       k.with_bias ? op->out[2]->data : NULL, x->device->stream);
    return 0;
}

const struct kernel cuda_narrow_conv2d = {
    .kind = &conv2d_kind, .supports = supports_narrow_conv, .prepare = prepare_narrow_conv,
    .run = run_narrow_conv, .types = KERNEL_HALVES,
    .may = OP_NO_BIAS | OP_GIVES_MOMENTS | OP_HAS_SECOND | OP_HAS_COEF | OP_HAS_SECOND_COEF};
const struct kernel cuda_narrow_conv2d_grad_input = {
    .kind = &conv2d_grad_kind, .supports = supports_narrow_conv, .run = run_narrow_grad_input,
    .may = OP_HAS_SECOND, .must = OP_INPUT_ONLY, .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv2d_grad_weights = {
    .kind = &conv2d_grad_kind, .supports = supports_narrow_weights,
    .prepare = prepare_narrow_weights, .run = run_narrow_weights,
    .may = OP_NO_BIAS | OP_HAS_NORM_GRAD | OP_HAS_SECOND, .must = OP_WEIGHTS_ONLY,
    .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv_transpose2d = {
    .kind = &conv_transpose2d_kind, .supports = supports_narrow_up, .run = run_narrow_up,
    .may = OP_HAS_COEF, .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv_transpose2d_grad_input = {
    .kind = &conv_transpose2d_grad_kind, .supports = supports_narrow_back_up,
    .run = run_narrow_down, .must = OP_INPUT_ONLY, .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv_transpose2d_grad_weights = {
    .kind = &conv_transpose2d_grad_kind, .supports = supports_narrow_back_up,
    .prepare = prepare_narrow_up_weights, .run = run_narrow_up_weights, .must = OP_WEIGHTS_ONLY,
    .types = KERNEL_HALVES};
