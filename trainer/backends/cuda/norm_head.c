/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_norm_relu_conv2d and its gradient where the convolution is the 1x1 one to the logits: the norm is
 * applied as the head reads, and the sums of its gradient are made where the head's gradients are. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

#include "trainer/backends/cuda/norm_op.h"
#include "trainer/backends/cuda/pass.h"

#define NORM_PARTS 1024 /* of the sums that batch_norm.cu makes, at most */

static unsigned nchannels(const struct tensor *t)
{
    return (unsigned)tensor_channels(t);
}

static bool supports_norm_head(const struct op *op)
{
    return pass_is_head(op, op->in[0], op->out[0]);
}

static int prepare_norm_head(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = cuda_norm_workspace(nchannels(op->in[0]), NORM_PARTS);
    return 0;
}

static int run_norm_head(struct op *op, struct exec *x, struct err *e)
{
    struct op norm = norm_op_forward(op);
    struct pass_head_args k = {.x = op->in[0]->half, .w = op->in[3]->data, .bias = op->in[6]->data,
                               .z = op->out[0]->data, .npixels = (unsigned)tensor_pixels(op->in[0]),
                               .channels = nchannels(op->in[0]), .logits = nchannels(op->out[0])};

    if (cuda_norm_statistics(&norm, x, &k.coef, e))
        return -1;
    pass_head(&k, x->device->stream);
    return 0;
}

static bool supports_norm_head_grad(const struct op *op)
{
    return op->out[0]->dtype == DTYPE_BF16 && pass_is_head(op, op->in[1], op->in[0]);
}

static unsigned head_parts(const struct op *op)
{
    return pass_head_parts(tensor_pixels(op->in[0]));
}

/* Workspace: the norm's, then the parts of the weights' gradient. */
static int prepare_norm_head_grad(struct op *op, struct err *e)
{
    unsigned channels = nchannels(op->in[1]), logits = nchannels(op->in[0]);
    unsigned nparts = head_parts(op);

    (void)e;
    op->workspace_size = cuda_norm_workspace(channels, nparts) +
                         (size_t)nparts * logits * (channels + 1) * sizeof(double);
    return 0;
}

static int run_norm_head_grad(struct op *op, struct exec *x, struct err *e)
{
    struct op norm = norm_op_grad(op);
    unsigned channels = nchannels(op->in[1]), nparts = head_parts(op);
    struct pass_head_back_args k = {
        .dz = op->in[0]->data, .w = op->in[5]->data, .coef = cuda_norm_mask(&norm, x),
        .x = op->in[1]->half, .dx = op->out[0]->half,
        .parts = (double *)((char *)op->workspace + cuda_norm_workspace(channels, nparts)),
        .sums = cuda_norm_parts(&norm), .npixels = (unsigned)tensor_pixels(op->in[0]),
        .channels = channels, .logits = nchannels(op->in[0]), .nparts = nparts};

    pass_head_back(&k, op->out[3]->data, op->out[4]->data, x->device->stream);
    return cuda_norm_finish_grad(&norm, nparts, x, e);
}

const struct kernel cuda_norm_head = {
    .kind = &batch_norm_relu_conv2d_kind, .supports = supports_norm_head,
    .prepare = prepare_norm_head, .run = run_norm_head, .may = OP_TAKES_MOMENTS,
    .types = KERNEL_HALVES};
const struct kernel cuda_norm_head_grad = {
    .kind = &batch_norm_relu_conv2d_grad_kind, .supports = supports_norm_head_grad,
    .prepare = prepare_norm_head_grad, .run = run_norm_head_grad,
    .may = OP_GIVES_COEF, .types = KERNEL_HALVES};
