/* SPDX-License-Identifier: BSD-3-Clause */
/* The convolutions of few channels as kernels of ops: bfloat16, 3x3 with stride 1, 2x2 transposed with
 * stride 2. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

#include "trainer/backends/cuda/narrow_back.h"
#include "trainer/backends/cuda/narrow_conv.h"
#include "trainer/backends/cuda/narrow_up.h"

bool cuda_has_bf16(void)
{
    int device = 0, major = 0, nshared = 0;

    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           cudaDeviceGetAttribute(&nshared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
               cudaSuccess && major >= 8 && nshared >= NARROW_SHARED;
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

/* Channels as the kernels are made for them: an image of floats becomes 8; 0: of another type. */
static unsigned source_channels(const struct tensor *t)
{
    return is_bf16(t) ? channels_of(t) : t->dtype == DTYPE_F32 && channels_of(t) <= 8 ? 8 : 0;
}

/* Can they stand for one tensor? */
static bool are_chunks(const struct tensor *a, const struct tensor *b)
{
    return channels_of(a) % 8 == 0 && channels_of(b) % 8 == 0;
}

/* (x or dy, w, ...) -> y or dx. A gradient to a tensor of another size is one of stride 2. */
static bool supports_narrow_conv(const struct op *op)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];

    return is_bf16(dst) && op->attr.kernel == 3 && op->attr.stride <= 1 &&
           narrow_conv_resident(source_channels(src), channels_of(dst)) && cuda_supports(op) &&
           cuda_has_bf16();
}

static struct narrow_source source_of(const struct tensor *t)
{
    return is_bf16(t) ? (struct narrow_source){.first = {.x = t->half, .channels = channels_of(t)}}
                      : (struct narrow_source){.first = {.image = t->data, .channels = channels_of(t),
                                                         .form = NARROW_IMAGE}};
}

/* Queue it, and what becomes of its moments, if op gives any. */
static void run_narrow(const struct op *op, struct narrow_args *k, struct exec *x)
{
    unsigned out = k->first.channels + k->second.channels;
    unsigned nblocks = cuda_resident(narrow_conv_resident(narrow_channels(&k->src), out),
                                     k->field.ntiles);

    k->form = op_moments_out(op) ? NARROW_SQUARES : NARROW_NO_SUMS;
    k->sums = op->workspace;
    narrow_conv_run(k, nblocks, x->device->stream);
    cuda_moments_finish(op, k->sums, nblocks, x);
}

/* Of `in` channels as the kernels are made for them. */
static int prepare_moments(struct op *op, unsigned in)
{
    const struct tensor *y = op->out[0];

    op->workspace_size = cuda_moments_size(
        op, cuda_resident(narrow_conv_resident(in, channels_of(y)), field_of(y).ntiles));
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
    unsigned in = channels_of(src), out = channels_of(dst);
    struct narrow_args k = {.field = field_of(dst), .src = source_of(src), .w = op->in[1]->data,
                            .bias = bias, .w_out = backwards ? 9 : 9 * in,
                            .w_in = backwards ? 9 * out : 9, .flip = backwards, .nw = in,
                            .first = {dst->half, NULL, NULL, out}};

    run_narrow(op, &k, x);
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

/* (a, b, w, bias) -> y: what concat would write is never written. */
static bool supports_narrow_concat(const struct op *op)
{
    const struct tensor *a = op->in[0], *b = op->in[1], *y = op->out[0];

    return is_bf16(a) && is_bf16(b) && is_bf16(y) && are_chunks(a, b) && op->attr.kernel == 3 &&
           op->attr.stride <= 1 && cuda_supports(op) && cuda_has_bf16() &&
           narrow_conv_resident(channels_of(a) + channels_of(b), channels_of(y));
}

static int prepare_narrow_concat(struct op *op, struct err *e)
{
    (void)e;
    return prepare_moments(op, channels_of(op->in[0]) + channels_of(op->in[1]));
}

static int run_narrow_concat(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *a = op->in[0], *b = op->in[1], *y = op->out[0];
    unsigned in = channels_of(a) + channels_of(b), out = channels_of(y);
    struct narrow_args k = {.field = field_of(y), .src = {source_of(a).first, source_of(b).first},
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
           narrow_conv_resident(channels_of(dy), channels_of(a) + channels_of(b));
}

static int run_narrow_concat_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *a = op->out[0], *b = op->out[1];
    unsigned in = channels_of(dy), out = channels_of(a) + channels_of(b);
    struct narrow_args k = {.field = field_of(dy), .src = source_of(dy), .w = op->in[1]->data,
                            .w_out = 9, .w_in = 9 * out, .flip = true, .nw = in,
                            .first = {a->half, NULL, NULL, channels_of(a)},
                            .second = {b->half, NULL, NULL, channels_of(b)}};

    (void)e;
    narrow_conv_run(&k, cuda_resident(narrow_conv_resident(in, out), k.field.ntiles),
                    x->device->stream);
    return 0;
}

/* (dy, x) or (dy, a, b) -> dw, and perhaps db. */
static unsigned weights_channels(const struct op *op)
{
    return op->kind->nin > 2 ? channels_of(op->in[1]) + channels_of(op->in[2])
                             : source_channels(op->in[1]);
}

static bool supports_narrow_weights(const struct op *op)
{
    const struct tensor *dy = op->in[0], *x = op->in[1], *last = op->in[op->kind->nin - 1];

    return is_bf16(dy) && (last == x || (is_bf16(x) && is_bf16(last) && are_chunks(x, last))) &&
           op->attr.kernel == 3 && op->attr.stride <= 1 &&
           narrow_back_resident(weights_channels(op), channels_of(dy), false) &&
           cuda_supports(op) && cuda_has_bf16();
}

static unsigned weights_blocks(const struct op *op)
{
    const struct tensor *dy = op->in[0];

    return cuda_resident(narrow_back_resident(weights_channels(op), channels_of(dy), false),
                         field_of(dy).ntiles);
}

static int prepare_narrow_weights(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = narrow_back_bytes(weights_channels(op), channels_of(op->in[0]),
                                           weights_blocks(op), op->kind->nout > 1, NARROW_TAPS);
    return 0;
}

static int run_narrow_weights(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0];
    struct narrow_back_args k = {.input = {.field = field_of(dy), .src = source_of(dy)},
                                 .act = source_of(op->in[1]), .partials = op->workspace,
                                 .with_bias = op->kind->nout > 1};

    (void)e;
    if (op->kind->nin > 2)
        k.act.second = source_of(op->in[2]).first;
    narrow_back_run(&k, weights_blocks(op), op->out[0]->data,
                    k.with_bias ? op->out[1]->data : NULL, x->device->stream);
    return 0;
}

/* (x, w[I][O][2][2], b) -> y */
static bool supports_narrow_up(const struct op *op)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];

    return is_bf16(src) && is_bf16(dst) && narrow_up_resident(channels_of(src), channels_of(dst)) &&
           cuda_supports(op) && cuda_has_bf16();
}

static int run_narrow_up(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    unsigned in = channels_of(src), out = channels_of(dst);
    struct narrow_args k = {.field = field_of(src), .src = source_of(src), .w = op->in[1]->data,
                            .bias = op->in[2]->data, .w_out = 4, .w_in = 4 * out, .nw = in,
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
           narrow_back_up_resident(channels_of(small_of(op)), channels_of(op->in[0]));
}

static unsigned back_up_blocks(const struct op *op)
{
    return cuda_resident(
        narrow_back_up_resident(channels_of(small_of(op)), channels_of(op->in[0])),
        field_of(small_of(op)).ntiles);
}

static int run_narrow_down(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *dx = op->out[0];
    unsigned in = channels_of(dy), out = channels_of(dx);
    struct narrow_back_args k = {
        .input = {.field = field_of(dx), .src = source_of(dy), .w = op->in[1]->data,
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
        narrow_back_bytes(channels_of(op->in[1]), channels_of(op->in[0]), back_up_blocks(op),
                          op->kind->nout > 1, NARROW_UP_TAPS);
    return 0;
}

static int run_narrow_up_weights(struct op *op, struct exec *x, struct err *e)
{
    struct narrow_back_args k = {
        .input = {.field = field_of(op->in[1]), .src = source_of(op->in[0])},
        .act = source_of(op->in[1]), .partials = op->workspace, .with_bias = op->kind->nout > 1};

    (void)e;
    narrow_back_up_run(&k, back_up_blocks(op), op->out[0]->data,
                       k.with_bias ? op->out[1]->data : NULL, x->device->stream);
    return 0;
}

const struct kernel cuda_narrow_conv2d = {&conv2d_kind, supports_narrow_conv, prepare_narrow_conv,
                                          run_narrow_conv, NULL};
const struct kernel cuda_narrow_conv2d_nobias = {&conv2d_nobias_kind, supports_narrow_conv,
                                                 prepare_narrow_conv, run_narrow_conv, NULL};
const struct kernel cuda_narrow_conv2d_grad_input = {&conv2d_grad_input_kind, supports_narrow_conv, NULL,
                                                     run_narrow_grad_input, NULL};
const struct kernel cuda_narrow_conv2d_grad_weights = {
    &conv2d_grad_weights_kind, supports_narrow_weights, prepare_narrow_weights, run_narrow_weights, NULL};
const struct kernel cuda_narrow_conv2d_nobias_grad_weights = {
    &conv2d_nobias_grad_weights_kind, supports_narrow_weights, prepare_narrow_weights, run_narrow_weights, NULL};
const struct kernel cuda_narrow_concat_conv2d = {&concat_conv2d_kind, supports_narrow_concat,
                                                 prepare_narrow_concat, run_narrow_concat, NULL};
const struct kernel cuda_narrow_concat_conv2d_grad_input = {
    &concat_conv2d_grad_input_kind, supports_narrow_concat_grad, NULL, run_narrow_concat_grad, NULL};
const struct kernel cuda_narrow_concat_conv2d_grad_weights = {
    &concat_conv2d_grad_weights_kind, supports_narrow_weights, prepare_narrow_weights,
    run_narrow_weights, NULL};
const struct kernel cuda_narrow_conv_transpose2d = {&conv_transpose2d_kind, supports_narrow_up, NULL,
                                                    run_narrow_up, NULL};
const struct kernel cuda_narrow_conv_transpose2d_grad_input = {
    &conv_transpose2d_grad_input_kind, supports_narrow_back_up, NULL, run_narrow_down, NULL};
const struct kernel cuda_narrow_conv_transpose2d_grad_weights = {
    &conv_transpose2d_grad_weights_kind, supports_narrow_back_up, prepare_narrow_up_weights,
    run_narrow_up_weights, NULL};
