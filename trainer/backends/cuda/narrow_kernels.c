/* SPDX-License-Identifier: BSD-3-Clause */
/* The convolutions of few channels as kernels of ops: bfloat16, 3x3 with stride 1, 2x2 transposed with
 * stride 2. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

#include "trainer/backends/cuda/cuda_check.h"
#include "trainer/backends/cuda/narrow_back.h"
#include "trainer/backends/cuda/narrow_conv.h"
#include "trainer/backends/cuda/narrow_op.h"
#include "trainer/backends/cuda/narrow_up.h"

bool cuda_has_bf16(void)
{
    int device = 0, major = 0;

    return !cuda_check_is_plain() && cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           major >= 8;
}

unsigned cuda_fit(unsigned nblocks, size_t nbytes)
{
    int device = 0, most = 0;

    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
        return 0;
    size_t room = ((size_t)most + NARROW_RESERVED) / (nbytes + NARROW_RESERVED);
    return room < nblocks ? (unsigned)room : nblocks;
}

unsigned cuda_resident(unsigned each, size_t n)
{
    int device = 0, nprocessors = 1;

    if (cudaGetDevice(&device) == cudaSuccess)
        (void)cudaDeviceGetAttribute(&nprocessors, cudaDevAttrMultiProcessorCount, device);
    size_t most = (size_t)nprocessors * each;
    return cuda_check_blocks((unsigned)(n < most ? n : most));
}

static bool is_bf16(const struct tensor *t)
{
    return t->dtype == DTYPE_BF16;
}

/* Channels as the kernels are made for them: an image of floats becomes 8; 0: of another type. */
static unsigned source_channels(const struct tensor *t)
{
    return is_bf16(t) ? narrow_op_channels(t) : t->dtype == DTYPE_F32 && narrow_op_channels(t) <= 8 ? 8 : 0;
}

/* Can they stand for one tensor? */
static bool are_chunks(const struct tensor *a, const struct tensor *b)
{
    return narrow_op_channels(a) % 8 == 0 && narrow_op_channels(b) % 8 == 0;
}

/* (x or dy, w, ...) -> y or dx. A gradient to a tensor of another size is one of stride 2. */
static bool supports_narrow_conv(const struct op *op)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];

    return is_bf16(dst) && op->attr.kernel == 3 && op->attr.stride <= 1 &&
           (is_bf16(src) || !op->in[OP_COEF]) &&
           narrow_conv_resident(source_channels(src), narrow_op_channels(dst)) && cuda_supports(op) &&
           cuda_has_bf16();
}

/* In one part; coef: of a norm in front, or NULL. */
static struct narrow_source source_of(const struct tensor *t, const struct tensor *coef)
{
    struct narrow_part image = {.image = t->data, .channels = narrow_op_channels(t),
                                .form = NARROW_IMAGE};

    return (struct narrow_source){.first = is_bf16(t) ? narrow_op_source(t, coef) : image};
}

/* Queue it, and what becomes of its moments, if op gives any. */
static void run_narrow(const struct op *op, struct narrow_args *k, struct exec *x)
{
    unsigned out = k->first.channels + k->second.channels;
    unsigned nblocks = cuda_resident(narrow_conv_resident(narrow_channels(&k->src), out),
                                     k->field.ntiles);

    k->form = op->out[OP_OUT_MOMENTS] ? NARROW_SQUARES : NARROW_NO_SUMS;
    k->sums = op->workspace;
    narrow_conv_run(k, nblocks, x->device->stream);
    cuda_moments_finish(op, k->sums, nblocks, x);
}

/* Of `in` channels as the kernels are made for them. */
static int prepare_moments(struct op *op, unsigned in)
{
    const struct tensor *y = op->out[0];

    op->workspace_size = cuda_moments_size(
        op, cuda_resident(narrow_conv_resident(in, narrow_op_channels(y)), narrow_op_field(y).ntiles));
    return 0;
}

static int prepare_narrow_conv(struct op *op, struct err *e)
{
    (void)e;
    return prepare_moments(op, source_channels(op->in[0]));
}

static void narrow_convolve(const struct op *op, const float *bias, bool backwards, struct exec *x)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    unsigned in = narrow_op_channels(src), out = narrow_op_channels(dst);
    struct narrow_args k = {.field = narrow_op_field(dst), .src = source_of(src, op->in[OP_COEF]),
                            .w = op->in[1]->data,
                            .bias = bias, .w_out = backwards ? 9 : 9 * in,
                            .w_in = backwards ? 9 * out : 9, .flip = backwards, .nw = in,
                            .first = {dst->half, NULL, NULL, out}};

    run_narrow(op, &k, x);
}

static int run_narrow_conv(struct op *op, struct exec *x, struct err *e)
{
    (void)e;
    narrow_convolve(op, op->in[2] ? op->in[2]->data : NULL, false, x);
    return 0;
}

static int run_narrow_grad_input(struct op *op, struct exec *x, struct err *e)
{
    (void)e;
    narrow_convolve(op, NULL, true, x);
    return 0;
}

/* (a, b, w, bias) -> y: what concat would write is never written. */
static bool supports_narrow_concat(const struct op *op)
{
    const struct tensor *a = op->in[0], *b = op->in[1], *y = op->out[0];

    return is_bf16(a) && is_bf16(b) && is_bf16(y) && are_chunks(a, b) && op->attr.kernel == 3 &&
           op->attr.stride <= 1 && cuda_supports(op) && cuda_has_bf16() &&
           narrow_conv_resident(narrow_op_channels(a) + narrow_op_channels(b), narrow_op_channels(y));
}

static int prepare_narrow_concat(struct op *op, struct err *e)
{
    (void)e;
    return prepare_moments(op, narrow_op_channels(op->in[0]) + narrow_op_channels(op->in[1]));
}

static int run_narrow_concat(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *a = op->in[0], *b = op->in[1], *y = op->out[0];
    unsigned in = narrow_op_channels(a) + narrow_op_channels(b), out = narrow_op_channels(y);
    struct narrow_args k = {.field = narrow_op_field(y), 
                            .src = {narrow_op_source(op->in[0], op->in[OP_COEF]),
                                    narrow_op_source(op->in[1], op->in[OP_SECOND_COEF])},
                            .w = op->in[2]->data, .bias = op->in[3]->data, .w_out = 9 * in,
                            .w_in = 9, .nw = in, .first = {y->half, NULL, NULL, out}};

    (void)e;
    run_narrow(op, &k, x);
    return 0;
}

/* (dy, w) -> da, db */
static bool supports_narrow_concat_grad(const struct op *op)
{
    const struct tensor *dy = op->in[0], *a = op->out[0], *b = op->out[1];

    return is_bf16(dy) && is_bf16(a) && is_bf16(b) && are_chunks(a, b) && op->attr.kernel == 3 &&
           op->attr.stride <= 1 && cuda_supports(op) && cuda_has_bf16() &&
           narrow_conv_resident(narrow_op_channels(dy), narrow_op_channels(a) + narrow_op_channels(b));
}

static int run_narrow_concat_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *a = op->out[0], *b = op->out[1];
    unsigned in = narrow_op_channels(dy), out = narrow_op_channels(a) + narrow_op_channels(b);
    struct narrow_args k = {.field = narrow_op_field(dy), .src = source_of(dy, NULL), .w = op->in[1]->data,
                            .w_out = 9, .w_in = 9 * out, .flip = true, .nw = in,
                            .first = {a->half, NULL, NULL, narrow_op_channels(a)},
                            .second = {b->half, NULL, NULL, narrow_op_channels(b)}};

    (void)e;
    narrow_conv_run(&k, cuda_resident(narrow_conv_resident(in, out), k.field.ntiles),
                    x->device->stream);
    return 0;
}

/* (dy, x) or (dy, a, b) -> dw, and perhaps db. */
static unsigned weights_channels(const struct op *op)
{
    return op->in[2] ? narrow_op_channels(op->in[1]) + narrow_op_channels(op->in[2])
                             : source_channels(op->in[1]);
}

static bool supports_narrow_weights(const struct op *op)
{
    const struct tensor *dy = op->in[0], *x = op->in[1], *last = op->in[2] ? op->in[2] : x;
    const struct tensor *late = op->in[OP_LATE_X];

    return is_bf16(dy) && (!late || is_bf16(late)) &&
           (last == x || (is_bf16(x) && is_bf16(last) && are_chunks(x, last))) &&
           op->attr.kernel == 3 && op->attr.stride <= 1 &&
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
                                           weights_blocks(op), op->out[1] != NULL, NARROW_TAPS);
    return 0;
}

static int run_narrow_weights(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0];
    struct narrow_back_args k = {.input = {.field = narrow_op_field(dy), .src.first = narrow_op_gradient(op)},
                                 .act = source_of(op->in[1], NULL), .partials = op->workspace,
                                 .with_bias = op->out[1] != NULL};

    (void)e;
    if (op->in[2])
        k.act.second = source_of(op->in[2], NULL).first;
    narrow_back_run(&k, weights_blocks(op), op->out[0]->data,
                    k.with_bias ? op->out[1]->data : NULL, x->device->stream);
    return 0;
}

/* (x, w[I][O][2][2], b) -> y */
static bool supports_narrow_up(const struct op *op)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];

    return is_bf16(src) && is_bf16(dst) && narrow_up_resident(narrow_op_channels(src), narrow_op_channels(dst)) &&
           cuda_supports(op) && cuda_has_bf16();
}

static int run_narrow_up(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    unsigned in = narrow_op_channels(src), out = narrow_op_channels(dst);
    struct narrow_args k = {.field = narrow_op_field(src), 
                            .src.first = narrow_op_source(op->in[0], op->in[OP_COEF]),
                            .w = op->in[1]->data, .bias = op->in[2]->data, .w_out = 4, .w_in = 4 * out, .nw = in,
                            .first = {dst->half, NULL, NULL, out}};

    (void)e;
    narrow_up_run(&k, cuda_resident(narrow_up_resident(in, out), k.field.ntiles),
                  x->device->stream);
    return 0;
}

/* (dy, w) -> dx, or (dy, x) -> dw, db; small: dx or x. */
static const struct tensor *small_of(const struct op *op)
{
    return op->kind == &conv_transpose2d_grad_input_kind ? op->out[0] : op->in[1];
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
    struct narrow_back_args k = {
        .input = {.field = narrow_op_field(dx), .src = source_of(dy, NULL), .w = op->in[1]->data,
                  .w_out = 4 * in, .w_in = 4, .nw = in, .first = {dx->half, NULL, NULL, out}},
        .act = {.first = {.channels = out}}};

    (void)e;
    narrow_back_up_run(&k, back_up_blocks(op), NULL, NULL, x->device->stream);
    return 0;
}

static int prepare_narrow_up_weights(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size =
        narrow_back_bytes(narrow_op_channels(op->in[1]), narrow_op_channels(op->in[0]), back_up_blocks(op),
                          op->out[1] != NULL, NARROW_UP_TAPS);
    return 0;
}

static int run_narrow_up_weights(struct op *op, struct exec *x, struct err *e)
{
    struct narrow_back_args k = {
        .input = {.field = narrow_op_field(op->in[1]), .src = source_of(op->in[0], NULL)},
        .act = source_of(op->in[1], NULL), .partials = op->workspace, .with_bias = op->out[1] != NULL};

    (void)e;
    narrow_back_up_run(&k, back_up_blocks(op), op->out[0]->data,
                       k.with_bias ? op->out[1]->data : NULL, x->device->stream);
    return 0;
}

const struct kernel cuda_narrow_conv2d = {
    .kind = &conv2d_kind, .supports = supports_narrow_conv, .prepare = prepare_narrow_conv,
    .run = run_narrow_conv, .may = OP_BARE | OP_GIVES_MOMENTS | OP_HAS_COEF,
    .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv2d_grad_input = {
    .kind = &conv2d_grad_input_kind, .supports = supports_narrow_conv, .run = run_narrow_grad_input,
    .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv2d_grad_weights = {
    .kind = &conv2d_grad_weights_kind, .supports = supports_narrow_weights,
    .prepare = prepare_narrow_weights, .run = run_narrow_weights, .may = OP_BARE | OP_TAKES_LATE,
    .types = KERNEL_HALVES};
const struct kernel cuda_narrow_concat_conv2d = {
    .kind = &concat_conv2d_kind, .supports = supports_narrow_concat,
    .prepare = prepare_narrow_concat, .run = run_narrow_concat,
    .may = OP_GIVES_MOMENTS | OP_HAS_COEF | OP_HAS_SECOND_COEF, .types = KERNEL_HALVES};
const struct kernel cuda_narrow_concat_conv2d_grad_input = {
    .kind = &concat_conv2d_grad_input_kind, .supports = supports_narrow_concat_grad,
    .run = run_narrow_concat_grad, .types = KERNEL_HALVES};
const struct kernel cuda_narrow_concat_conv2d_grad_weights = {
    .kind = &concat_conv2d_grad_weights_kind, .supports = supports_narrow_weights,
    .prepare = prepare_narrow_weights, .run = run_narrow_weights, .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv_transpose2d = {
    .kind = &conv_transpose2d_kind, .supports = supports_narrow_up, .run = run_narrow_up,
    .may = OP_HAS_COEF, .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv_transpose2d_grad_input = {
    .kind = &conv_transpose2d_grad_input_kind, .supports = supports_narrow_back_up,
    .run = run_narrow_down, .types = KERNEL_HALVES};
const struct kernel cuda_narrow_conv_transpose2d_grad_weights = {
    .kind = &conv_transpose2d_grad_weights_kind, .supports = supports_narrow_back_up,
    .prepare = prepare_narrow_up_weights, .run = run_narrow_up_weights, .types = KERNEL_HALVES};
