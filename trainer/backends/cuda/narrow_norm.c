/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_norm_relu_conv2d and its gradient by the convolutions of few channels: the norm is applied on
 * their way in, and the sums of its gradient are added up on the way out. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

#include "trainer/backends/cuda/narrow_back.h"
#include "trainer/backends/cuda/narrow_conv.h"
#include "trainer/backends/cuda/narrow_op.h"
#include "trainer/backends/cuda/norm_op.h"

#define NORM_PARTS 1024 /* of the sums that batch_norm.cu makes, at most */

static bool is_narrow(const struct op *op, const struct tensor *x, const struct tensor *y)
{
    return x->dtype == DTYPE_BF16 && y->dtype == DTYPE_BF16 && narrow_op_is_3x3(op) &&
           cuda_supports(op) && cuda_has_bf16();
}

static bool supports_norm_conv(const struct op *op)
{
    return is_narrow(op, op->in[0], op->out[0]) &&
           narrow_conv_resident(narrow_op_channels(op->in[0]), narrow_op_channels(op->out[0]));
}

/* (dy, x, gamma, saved, beta, w) -> dx, ... */
static bool supports_norm_conv_grad(const struct op *op)
{
    return is_narrow(op, op->in[1], op->in[0]) && op->out[0]->dtype == DTYPE_BF16 &&
           (!op->in[OP_LATE_X] || op->in[OP_LATE_X]->dtype == DTYPE_BF16) &&
           narrow_back_resident(narrow_op_channels(op->in[1]), narrow_op_channels(op->in[0]), true);
}

static unsigned conv_blocks(const struct op *op)
{
    return cuda_resident(
        narrow_conv_resident(narrow_op_channels(op->in[0]), narrow_op_channels(op->out[0])),
        narrow_op_field(op->in[0]).ntiles);
}

/* Workspace: the norm's, then the parts of the moments. */
static int prepare_norm_conv(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = cuda_norm_workspace(narrow_op_channels(op->in[0]), NORM_PARTS) +
                         cuda_moments_size(op, conv_blocks(op));
    return 0;
}

static int run_norm_conv(struct op *op, struct exec *x, struct err *e)
{
    struct op norm = norm_op_forward(op);
    unsigned in = narrow_op_channels(op->in[0]), out = narrow_op_channels(op->out[0]);
    unsigned nblocks = conv_blocks(op);
    struct narrow_args k = {.field = narrow_op_field(op->in[0]), .w = op->in[3]->data,
                            .bias = op->in[6]->data, .w_out = 9 * in, .w_in = 9, .nw = in,
                            .src.first = {.x = op->in[0]->half, .channels = in,
                                          .form = NARROW_NORM_RELU},
                            .first = {.y = op->out[0]->half, .channels = out},
                            .form = op->out[OP_OUT_MOMENTS] ? NARROW_SQUARES : NARROW_NO_SUMS,
                            .sums = (double *)((char *)op->workspace +
                                               cuda_norm_workspace(in, NORM_PARTS))};

    if (cuda_norm_statistics(&norm, x, &k.src.first.coef, e))
        return -1;
    narrow_conv_run(&k, nblocks, x->device->stream);
    cuda_moments_finish(op, k.sums, nblocks, x);
    return 0;
}

static unsigned grad_blocks(const struct op *op)
{
    return cuda_resident(
        narrow_back_resident(narrow_op_channels(op->in[1]), narrow_op_channels(op->in[0]), true),
        narrow_op_field(op->in[0]).ntiles);
}

static int prepare_norm_conv_grad(struct op *op, struct err *e)
{
    unsigned in = narrow_op_channels(op->in[1]), out = narrow_op_channels(op->in[0]);
    unsigned nblocks = grad_blocks(op);

    (void)e;
    op->workspace_size = cuda_norm_workspace(in, nblocks) +
                         narrow_back_bytes(in, out, nblocks, true, NARROW_TAPS);
    return 0;
}

static int run_norm_conv_grad(struct op *op, struct exec *x, struct err *e)
{
    struct tensor *dy = op->in[0], *src = op->in[1], *dx = op->out[0];
    unsigned in = narrow_op_channels(src), out = narrow_op_channels(dy), nblocks = grad_blocks(op);
    struct op norm = norm_op_grad(op);
    const float *mask = cuda_norm_mask(&norm, x);
    struct narrow_back_args k = {
        .input = {.field = narrow_op_field(dy), .w = op->in[5]->data, .w_out = 9, .w_in = 9 * in, .flip = 1,
                  .nw = out, .src.first = narrow_op_gradient(op),
                  .first = {.y = dx->half, .x = src->half, .coef = mask, .channels = in},
                  .form = NARROW_NORM_SUMS, .sums = cuda_norm_parts(&norm)},
        .act.first = {.x = src->half, .coef = mask, .channels = in, .form = NARROW_NORM_RELU},
        .partials = (float *)((char *)op->workspace + cuda_norm_workspace(in, nblocks)),
        .with_bias = true};

    narrow_back_run(&k, nblocks, op->out[3]->data, op->out[4]->data, x->device->stream);
    return cuda_norm_finish_grad(&norm, nblocks, x, e);
}

const struct kernel cuda_narrow_norm_conv2d = {
    .kind = &batch_norm_relu_conv2d_kind, .supports = supports_norm_conv,
    .prepare = prepare_norm_conv, .run = run_norm_conv, .may = OP_GIVES_MOMENTS | OP_TAKES_MOMENTS,
    .types = KERNEL_HALVES};
const struct kernel cuda_narrow_norm_conv2d_grad = {
    .kind = &batch_norm_relu_conv2d_grad_kind, .supports = supports_norm_conv_grad,
    .prepare = prepare_norm_conv_grad, .run = run_norm_conv_grad,
    .may = OP_TAKES_LATE | OP_GIVES_COEF, .types = KERNEL_HALVES};
