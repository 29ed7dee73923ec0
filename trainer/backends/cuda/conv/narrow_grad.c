/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a convolution of few channels as kernels of ops: one pass over its tensors, a
 * norm's gradient made on the way in where it comes late. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#include "trainer/backends/cuda/conv/narrow_back.h"
#include "trainer/backends/cuda/conv/narrow_op.h"

static bool is_chunks(const struct tensor *t)
{
    return !t || (t->dtype == DTYPE_BF16 && narrow_op_channels(t) % 8 == 0);
}

/* Of the convolution's source. */
static unsigned channels_in(const struct op *op)
{
    const struct tensor *second = op->in[OP_SECOND];

    return narrow_op_channels(op->in[2]) + (second ? narrow_op_channels(second) : 0);
}

static bool supports_grads(const struct op *op)
{
    const struct tensor *sums = op->out[OP_OUT_SUMS];

    return op->in[0]->dtype == DTYPE_BF16 &&
           (!op->in[OP_NORM_GRAD_X] || op->in[OP_NORM_GRAD_X]->dtype == DTYPE_BF16) &&
           (!sums || (op->in[OP_COEF] && !op->in[OP_SECOND])) && is_chunks(op->in[2]) &&
           is_chunks(op->in[OP_SECOND]) && is_chunks(op->out[0]) &&
           is_chunks(op->out[OP_OUT_SECOND]) && narrow_op_is_3x3(op) && cuda_supports(op) &&
           cuda_has_bf16() &&
           narrow_back_resident(channels_in(op), narrow_op_channels(op->in[0]), true);
}

static unsigned count_blocks(const struct op *op)
{
    return cuda_resident(
        narrow_back_resident(channels_in(op), narrow_op_channels(op->in[0]), true),
        narrow_op_field(op->in[0]).ntiles);
}

/* Workspace: parts of the sums, then those of the weights' gradient. */
static int prepare_grads(struct op *op, struct err *e)
{
    unsigned nblocks = count_blocks(op);

    (void)e;
    op->workspace_size = cuda_sums_size(op, nblocks) +
                         narrow_back_bytes(channels_in(op), narrow_op_channels(op->in[0]), nblocks,
                                           true, NARROW_TAPS);
    return 0;
}

/* The sums of its first result that op gives, if any; the workspace begins with their parts. */
static void want_sums(const struct op *op, struct narrow_args *k)
{
    if (!op->out[OP_OUT_SUMS])
        return;
    k->first.x = op->in[2]->half;
    k->first.coef = op->in[OP_COEF]->data;
    k->form = NARROW_NORM_SUMS;
    k->sums = op->workspace;
}

static struct narrow_result grad_result(const struct tensor *t)
{
    struct narrow_result result = {.y = t->half, .channels = narrow_op_channels(t)};

    return result;
}

static int run_grads(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *second = op->in[OP_SECOND];
    unsigned in = channels_in(op), nblocks = count_blocks(op);
    struct narrow_back_args k = {
        .input = {.field = narrow_op_field(op->in[0]), .src.first = narrow_op_gradient(op),
                  .w = op->in[1]->data, .w_out = 9, .w_in = 9 * in, .flip = 1,
                  .nw = narrow_op_channels(op->in[0]), .first = grad_result(op->out[0])},
        .act.first = narrow_op_source(op->in[2], op->in[OP_COEF]), .with_bias = true,
        .partials = (float *)((char *)op->workspace + cuda_sums_size(op, nblocks))};

    (void)e;
    if (second) {
        k.act.second = narrow_op_source(second, op->in[OP_SECOND_COEF]);
        k.input.second = grad_result(op->out[OP_OUT_SECOND]);
    }
    want_sums(op, &k.input);
    narrow_back_run(&k, nblocks, op->out[1]->data, op->out[2]->data, x->device->stream);
    cuda_sums_finish(op, k.input.sums, nblocks, x);
    return 0;
}

static bool supports_up_grads(const struct op *op)
{
    return op->in[0]->dtype == DTYPE_BF16 && op->in[2]->dtype == DTYPE_BF16 &&
           op->out[0]->dtype == DTYPE_BF16 && cuda_supports(op) && cuda_has_bf16() &&
           narrow_back_up_resident(narrow_op_channels(op->in[2]), narrow_op_channels(op->in[0]));
}

static unsigned count_up_blocks(const struct op *op)
{
    return cuda_resident(
        narrow_back_up_resident(narrow_op_channels(op->in[2]), narrow_op_channels(op->in[0])),
        narrow_op_field(op->in[2]).ntiles);
}

/* Workspace: parts of the sums, then those of the weights' gradient. */
static int prepare_up_grads(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = cuda_sums_size(op, count_up_blocks(op)) +
                         narrow_back_bytes(narrow_op_channels(op->in[2]),
                                           narrow_op_channels(op->in[0]), count_up_blocks(op), true,
                                           NARROW_UP_TAPS);
    return 0;
}

static int run_up_grads(struct op *op, struct exec *x, struct err *e)
{
    unsigned out = narrow_op_channels(op->in[0]), nblocks = count_up_blocks(op);
    struct narrow_back_args k = {
        .input = {.field = narrow_op_field(op->in[2]), .src.first = narrow_op_source(op->in[0],
                                                                                     NULL),
                  .w = op->in[1]->data, .w_out = 4 * out, .w_in = 4, .nw = out,
                  .first = grad_result(op->out[0])},
        .act.first = narrow_op_source(op->in[2], op->in[OP_COEF]), .with_bias = true,
        .partials = (float *)((char *)op->workspace + cuda_sums_size(op, nblocks))};

    (void)e;
    want_sums(op, &k.input);
    narrow_back_up_run(&k, nblocks, op->out[1]->data, op->out[2]->data, x->device->stream);
    cuda_sums_finish(op, k.input.sums, nblocks, x);
    return 0;
}

const struct kernel cuda_narrow_conv2d_grad = {
    .kind = &conv2d_grad_kind, .supports = supports_grads, .prepare = prepare_grads,
    .run = run_grads, .types = KERNEL_HALVES,
    .may = OP_HAS_NORM_GRAD | OP_HAS_SECOND | OP_HAS_COEF | OP_HAS_SECOND_COEF | OP_GIVES_SUMS};
const struct kernel cuda_narrow_conv_transpose2d_grad = {
    .kind = &conv_transpose2d_grad_kind, .supports = supports_up_grads, .prepare = prepare_up_grads,
    .run = run_up_grads, .may = OP_GIVES_SUMS | OP_HAS_COEF, .types = KERNEL_HALVES};
