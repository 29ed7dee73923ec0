/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensor-core convolutions (mma_tile.h) as kernels of ops: bfloat16 (an image: floats), 3x3
 * with stride 1, and 2x2 transposed with stride 2. A norm in front of a source, or a deferred norm
 * gradient, is applied in the prologue; moments and gradient sums come out of the epilogue. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#include "trainer/backends/cuda/conv/mma_conv.h"
#include "trainer/backends/cuda/conv/mma_grad.h"
#include "trainer/backends/cuda/conv/mma_transpose.h"

static bool is_bf16(const struct tensor *t)
{
    return t->dtype == DTYPE_BF16;
}

static unsigned channels_of(const struct tensor *t)
{
    return (unsigned)tensor_channels(t);
}

/* Returns the number of channels that a kernel must be compiled for: an image of floats is padded
 * to 8. 0: the tensor is not supported. */
static unsigned padded_channels(const struct tensor *t)
{
    return is_bf16(t)                                     ? channels_of(t)
           : t->dtype == DTYPE_F32 && channels_of(t) <= 8 ? 8
                                                          : 0;
}

/* The same of the concatenation of a and b; b may be NULL. With b, 0 as well unless both are
 * bfloat16 with multiples of 8 channels. */
static unsigned pair_channels(const struct tensor *a, const struct tensor *b)
{
    if (!b)
        return padded_channels(a);
    if (!is_bf16(a) || !is_bf16(b) || channels_of(a) % 8 || channels_of(b) % 8)
        return 0;
    return channels_of(a) + channels_of(b);
}

static bool is_3x3(const struct op *op)
{
    return op->attr.kernel == 3 && op->attr.stride <= 1;
}

static float *data_or_null(const struct tensor *t)
{
    return t ? t->data : NULL;
}

static struct mma_field field_of(const struct tensor *t)
{
    return mma_field((unsigned)t->shape.dim[DIM_N], (unsigned)t->shape.dim[DIM_H],
                     (unsigned)t->shape.dim[DIM_W]);
}

/* x as a source; with scale_shift behind a norm and its ReLU. x may be NULL. */
static struct mma_part part_of(const struct tensor *x, const struct tensor *scale_shift)
{
    struct mma_part part = {0};

    if (!x)
        return part;
    part.channels = channels_of(x);
    part.prologue = !is_bf16(x) ? MMA_IMAGE : scale_shift ? MMA_NORM_RELU : MMA_PLAIN;
    part.x = is_bf16(x) ? x->half : NULL;
    part.image = is_bf16(x) ? NULL : x->data;
    part.coef = data_or_null(scale_shift);
    return part;
}

/* The op's source, which is in[i], and its second one. */
static struct mma_source source_of(const struct op *op, int i)
{
    struct mma_source s = {part_of(op->in[i], op->in[OP_SCALE_SHIFT]),
                           part_of(op->in[OP_SECOND], op->in[OP_SECOND_SCALE_SHIFT])};

    return s;
}

/* The gradient in[0] of an op; with a deferred norm gradient, read through that. */
static struct mma_part gradient_of(const struct op *op)
{
    const struct tensor *g = op->in[0], *x = op->in[OP_NORM_GRAD_X];
    struct mma_part plain = part_of(g, NULL), deferred = plain;

    if (!x)
        return plain;
    deferred.x = x->half;
    deferred.g = g->half;
    deferred.coef = op->in[OP_NORM_GRAD_COEF]->data;
    deferred.prologue = MMA_NORM_GRAD;
    return deferred;
}

static struct mma_result mma_result_of(const struct tensor *t)
{
    struct mma_result result = {0};

    if (t) {
        result.y = t->half;
        result.channels = channels_of(t);
    }
    return result;
}

/* ---- a convolution, or the gradient of its input */

static unsigned channels_from(const struct op *op)
{
    return pair_channels(op->in[0], op->in[OP_SECOND]);
}

static unsigned channels_to(const struct op *op)
{
    return is_bf16(op->out[0]) ? pair_channels(op->out[0], op->out[OP_OUT_SECOND]) : 0;
}

static bool supports_mma_conv(const struct op *op)
{
    return is_3x3(op) && channels_from(op) && channels_to(op) &&
           (is_bf16(op->in[0]) || !op->in[OP_SCALE_SHIFT]) &&
           mma_conv_resident(channels_from(op), channels_to(op)) && cuda_supports(op) &&
           cuda_has_bf16();
}

static unsigned conv_blocks(const struct op *op)
{
    return cuda_resident(mma_conv_resident(channels_from(op), channels_to(op)),
                         field_of(op->out[0]).ntiles);
}

static int prepare_mma_conv(struct op *op, struct err *e)
{
    cuda_set_parts(op->out[OP_OUT_MOMENTS], conv_blocks(op));
    cuda_keep_packed(op, PACK_MMA);
    return 0;
}

/* A gradient without that of the weights has no in[2]. */
static int run_mma_conv(struct op *op, struct exec *x, struct err *e)
{
    unsigned nblocks = conv_blocks(op);
    struct mma_args k = {.field = field_of(op->out[0]),
                         .src = source_of(op, 0),
                         .packed = op->kept,
                         .bias = data_or_null(op->in[2]),
                         .relu = op->attr.relu,
                         .first = mma_result_of(op->out[0]),
                         .second = mma_result_of(op->out[OP_OUT_SECOND]),
                         .sums_of = op->out[OP_OUT_MOMENTS] ? MMA_SQUARES : MMA_NO_SUMS,
                         .sums = cuda_parts(op->out[OP_OUT_MOMENTS])};

    mma_conv_run(&k, nblocks, x->device->stream);
    return 0;
}

/* ---- gradients of the weights and, in the same pass over the tensors, of the input if wanted */

static bool is_bf16_chunks(const struct tensor *t)
{
    return !t || (is_bf16(t) && channels_of(t) % 8 == 0);
}

static unsigned grad_channels(const struct op *op)
{
    return pair_channels(op->in[2], op->in[OP_SECOND]);
}

static unsigned grad_resident(const struct op *op)
{
    return mma_grad_resident(grad_channels(op), channels_of(op->in[0]));
}

static bool supports_mma_grad(const struct op *op)
{
    const struct tensor *x = op->in[OP_NORM_GRAD_X];
    bool sums_fit = !op->out[OP_OUT_SUMS] || (op->in[OP_SCALE_SHIFT] && !op->in[OP_SECOND]);
    bool input_fits = !op->out[0] || (is_bf16_chunks(op->in[2]) && is_bf16_chunks(op->out[0]) &&
                                      is_bf16_chunks(op->out[OP_OUT_SECOND]));

    return is_bf16(op->in[0]) && (!x || is_bf16(x)) && is_3x3(op) && sums_fit && input_fits &&
           grad_channels(op) && grad_resident(op) && cuda_supports(op) && cuda_has_bf16();
}

static unsigned grad_blocks(const struct op *op)
{
    return cuda_resident(grad_resident(op), field_of(op->in[0]).ntiles);
}

/* The workspace holds the blocks' partial gradients of the weights. */
static int prepare_mma_grad(struct op *op, struct err *e)
{
    unsigned nblocks = grad_blocks(op);

    cuda_set_parts(op->out[OP_OUT_SUMS], nblocks);
    op->workspace_size = mma_grad_bytes(grad_channels(op), channels_of(op->in[0]), nblocks,
                                        op->out[2] != NULL, MMA_TAPS_3X3);
    if (op->out[0])
        cuda_keep_packed(op, PACK_MMA);
    return 0;
}

/* The arguments of 3x3 and transposed gradients, but for input.field. */
static struct mma_grad_args grad_args(const struct op *op)
{
    struct mma_grad_args k = {
        .input = {.src.first = gradient_of(op), .packed = op->kept,
                  .first = mma_result_of(op->out[0]),
                  .second = mma_result_of(op->out[OP_OUT_SECOND])},
        .act = source_of(op, 2), .with_bias = op->out[2] != NULL,
        .partials = op->workspace};

    if (op->out[OP_OUT_SUMS]) {
        k.input.first.x = op->in[2]->half;
        k.input.first.coef = op->in[OP_SCALE_SHIFT]->data;
        k.input.sums_of = MMA_NORM_SUMS;
        k.input.sums = cuda_parts(op->out[OP_OUT_SUMS]);
    }
    return k;
}

static int run_mma_grad(struct op *op, struct exec *x, struct err *e)
{
    struct mma_grad_args k = grad_args(op);

    k.input.field = field_of(op->in[0]);
    mma_grad_run(&k, grad_blocks(op), op->out[1]->data, data_or_null(op->out[2]),
                 x->device->stream);
    return 0;
}

/* ---- transposed: (x, w[I][O][2][2], b) -> y */

static bool supports_mma_transpose(const struct op *op)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];

    return is_bf16(src) && is_bf16(dst) &&
           mma_transpose_resident(channels_of(src), channels_of(dst)) && cuda_supports(op) &&
           cuda_has_bf16();
}

static int prepare_mma_transpose(struct op *op, struct err *e)
{
    cuda_keep_packed(op, PACK_MMA);
    return 0;
}

static int run_mma_transpose(struct op *op, struct exec *x, struct err *e)
{
    unsigned in = channels_of(op->in[0]), out = channels_of(op->out[0]);
    struct mma_args k = {.field = field_of(op->in[0]),
                         .src = source_of(op, 0),
                         .packed = op->kept,
                         .bias = op->in[2]->data,
                         .first = mma_result_of(op->out[0])};

    mma_transpose_run(&k, cuda_resident(mma_transpose_resident(in, out), k.field.ntiles),
                      x->device->stream);
    return 0;
}

static unsigned transpose_grad_resident(const struct op *op)
{
    return mma_grad_transpose_resident(channels_of(op->in[2]), channels_of(op->in[0]));
}

static bool supports_mma_transpose_grad(const struct op *op)
{
    return is_bf16(op->in[0]) && is_bf16(op->in[2]) && is_bf16(op->out[0]) && cuda_supports(op) &&
           cuda_has_bf16() && transpose_grad_resident(op);
}

static unsigned transpose_grad_blocks(const struct op *op)
{
    return cuda_resident(transpose_grad_resident(op), field_of(op->in[2]).ntiles);
}

static int prepare_mma_transpose_grad(struct op *op, struct err *e)
{
    unsigned nblocks = transpose_grad_blocks(op);

    cuda_set_parts(op->out[OP_OUT_SUMS], nblocks);
    op->workspace_size = mma_grad_bytes(channels_of(op->in[2]), channels_of(op->in[0]), nblocks,
                                        true, MMA_TAPS_2X2);
    cuda_keep_packed(op, PACK_MMA);
    return 0;
}

static int run_mma_transpose_grad(struct op *op, struct exec *x, struct err *e)
{
    struct mma_grad_args k = grad_args(op);

    k.input.field = field_of(op->in[2]);
    mma_grad_transpose_run(&k, transpose_grad_blocks(op), op->out[1]->data, op->out[2]->data,
                           x->device->stream);
    return 0;
}

const struct kernel cuda_mma_conv2d = {
    .kind = &conv2d_kind, .supports = supports_mma_conv, .prepare = prepare_mma_conv,
    .run = run_mma_conv, .types = KERNEL_HALVES,
    .accepts = OP_NO_BIAS | OP_GIVES_MOMENTS | OP_HAS_SECOND | OP_HAS_SCALE_SHIFT |
               OP_HAS_SECOND_SCALE_SHIFT | OP_RELU};
const struct kernel cuda_mma_conv2d_grad_input = {
    .kind = &conv2d_grad_kind, .supports = supports_mma_conv, .prepare = prepare_mma_conv,
    .run = run_mma_conv, .accepts = OP_HAS_SECOND, .requires = OP_INPUT_ONLY,
    .types = KERNEL_HALVES};
const struct kernel cuda_mma_conv2d_grad_weights = {
    .kind = &conv2d_grad_kind, .supports = supports_mma_grad, .prepare = prepare_mma_grad,
    .run = run_mma_grad, .accepts = OP_NO_BIAS | OP_HAS_NORM_GRAD | OP_HAS_SECOND,
    .requires = OP_WEIGHTS_ONLY, .types = KERNEL_HALVES};
const struct kernel cuda_mma_conv2d_grad = {
    .kind = &conv2d_grad_kind, .supports = supports_mma_grad, .prepare = prepare_mma_grad,
    .run = run_mma_grad, .types = KERNEL_HALVES,
    .accepts = OP_HAS_NORM_GRAD | OP_HAS_SECOND | OP_HAS_SCALE_SHIFT |
               OP_HAS_SECOND_SCALE_SHIFT | OP_GIVES_SUMS};
const struct kernel cuda_mma_conv_transpose2d = {
    .kind = &conv_transpose2d_kind, .supports = supports_mma_transpose,
    .prepare = prepare_mma_transpose, .run = run_mma_transpose,
    .accepts = OP_HAS_SCALE_SHIFT, .types = KERNEL_HALVES};
const struct kernel cuda_mma_conv_transpose2d_grad = {
    .kind = &conv_transpose2d_grad_kind, .supports = supports_mma_transpose_grad,
    .prepare = prepare_mma_transpose_grad, .run = run_mma_transpose_grad,
    .accepts = OP_GIVES_SUMS | OP_HAS_SCALE_SHIFT, .types = KERNEL_HALVES};
