/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a convolution of few channels as kernels of ops: one pass over its tensors, a norm's
 * gradient made on the way in where it comes late. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

#include "trainer/backends/cuda/narrow_back.h"
#include "trainer/backends/cuda/narrow_op.h"

/* Tensors that were the convolution's input: x, or a and b. */
static int count_parts(const struct op *op)
{
    return op->kind == &concat_conv2d_grad_kind ? 2 : 1;
}

static unsigned channels_in(const struct op *op)
{
    unsigned n = 0;

    for (int i = 0; i < count_parts(op); i++)
        n += narrow_op_channels(op->in[1 + i]);
    return n;
}

static bool supports_grads(const struct op *op)
{
    if (op->in[0]->dtype != DTYPE_BF16 || (op->out[OP_OUT_SUMS] && !op->in[OP_COEF]) ||
        (op->in[OP_LATE_X] && op->in[OP_LATE_X]->dtype != DTYPE_BF16))
        return false;
    for (int i = 0; i < count_parts(op); i++)
        if (op->in[1 + i]->dtype != DTYPE_BF16 || op->out[i]->dtype != DTYPE_BF16 ||
            narrow_op_channels(op->in[1 + i]) % 8)
            return false;
    return narrow_op_is_3x3(op) && cuda_supports(op) && cuda_has_bf16() &&
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
    k->first.x = op->in[1]->half;
    k->first.coef = op->in[OP_COEF]->data;
    k->form = NARROW_NORM_SUMS;
    k->sums = op->workspace;
}

static struct narrow_result grad_result(const struct tensor *t)
{
    struct narrow_result result = {.y = t->half, .channels = narrow_op_channels(t)};

    return result;
}

/* (dy, x, w) -> dx, dw, db or (dy, a, b, w) -> da, db, dw, dbias */
static int run_grads(struct op *op, struct exec *x, struct err *e)
{
    int n = count_parts(op);
    unsigned in = channels_in(op), nblocks = count_blocks(op);
    struct narrow_back_args k = {
        .input = {.field = narrow_op_field(op->in[0]), .src.first = narrow_op_gradient(op),
                  .w = op->in[1 + n]->data, .w_out = 9, .w_in = 9 * in, .flip = 1,
                  .nw = narrow_op_channels(op->in[0]), .first = grad_result(op->out[0])},
        .act.first = narrow_op_source(op->in[1], op->in[OP_COEF]), .with_bias = true,
        .partials = (float *)((char *)op->workspace + cuda_sums_size(op, nblocks))};

    (void)e;
    if (n > 1) {
        k.act.second = narrow_op_source(op->in[2], op->in[OP_SECOND_COEF]);
        k.input.second = grad_result(op->out[1]);
    }
    want_sums(op, &k.input);
    narrow_back_run(&k, nblocks, op->out[n]->data, op->out[n + 1]->data, x->device->stream);
    cuda_sums_finish(op, k.input.sums, nblocks, x);
    return 0;
}

/* (dy, x, w[I][O][2][2]) -> dx, dw, db */
static bool supports_up_grads(const struct op *op)
{
    return op->in[0]->dtype == DTYPE_BF16 && op->in[1]->dtype == DTYPE_BF16 &&
           op->out[0]->dtype == DTYPE_BF16 && cuda_supports(op) && cuda_has_bf16() &&
           narrow_back_up_resident(narrow_op_channels(op->in[1]), narrow_op_channels(op->in[0]));
}

static unsigned count_up_blocks(const struct op *op)
{
    return cuda_resident(
        narrow_back_up_resident(narrow_op_channels(op->in[1]), narrow_op_channels(op->in[0])),
        narrow_op_field(op->in[1]).ntiles);
}

/* Workspace: parts of the sums, then those of the weights' gradient. */
static int prepare_up_grads(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = cuda_sums_size(op, count_up_blocks(op)) +
                         narrow_back_bytes(narrow_op_channels(op->in[1]),
                                           narrow_op_channels(op->in[0]), count_up_blocks(op), true,
                                           NARROW_UP_TAPS);
    return 0;
}

static int run_up_grads(struct op *op, struct exec *x, struct err *e)
{
    unsigned out = narrow_op_channels(op->in[0]), nblocks = count_up_blocks(op);
    struct narrow_back_args k = {
        .input = {.field = narrow_op_field(op->in[1]), .src.first = narrow_op_source(op->in[0],
                                                                                     NULL),
                  .w = op->in[2]->data, .w_out = 4 * out, .w_in = 4, .nw = out,
                  .first = grad_result(op->out[0])},
        .act.first = narrow_op_source(op->in[1], op->in[OP_COEF]), .with_bias = true,
        .partials = (float *)((char *)op->workspace + cuda_sums_size(op, nblocks))};

    (void)e;
    want_sums(op, &k.input);
    narrow_back_up_run(&k, nblocks, op->out[1]->data, op->out[2]->data, x->device->stream);
    cuda_sums_finish(op, k.input.sums, nblocks, x);
    return 0;
}

const struct kernel cuda_narrow_conv2d_grad = {
    .kind = &conv2d_grad_kind, .supports = supports_grads, .prepare = prepare_grads,
    .run = run_grads, .may = OP_TAKES_LATE | OP_HAS_COEF | OP_GIVES_SUMS, .types = KERNEL_HALVES};
const struct kernel cuda_narrow_concat_conv2d_grad = {
    .kind = &concat_conv2d_grad_kind, .supports = supports_grads, .prepare = prepare_grads,
    .run = run_grads, .may = OP_TAKES_LATE | OP_HAS_COEF | OP_HAS_SECOND_COEF,
    .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv_transpose2d_grad = {
    .kind = &conv_transpose2d_grad_kind, .supports = supports_up_grads, .prepare = prepare_up_grads,
    .run = run_up_grads, .may = OP_GIVES_SUMS | OP_HAS_COEF, .types = KERNEL_HALVES};
