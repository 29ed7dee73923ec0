/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposed convolutions of any size and type (the gradients of the weights: one type), 2x2 with
 * stride 2: each pixel of the small tensor has 2x2 pixels of its own in the large one. A thread
 * computes LANES channels of one pixel or, of the gradients of weights and bias, one number over a
 * part of the rows. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#define MAX_PARTS 256
/* Floats of all partial sums of dw and db, unless one part has more. */
#define MAX_PARTIALS ((size_t)4 << 20)

/* Returns the pixel of the large tensor that belongs to tap 0 to 3 of a pixel of the small one.
 * Rows are counted over all images; w is the width of the small tensor. */
DEVICE unsigned large_pixel(unsigned small, unsigned tap, unsigned w)
{
    return (2 * (small / w) + tap / 2) * 2 * w + 2 * (small % w) + tap % 2;
}

struct transpose_args {
    const void *src;
    const float *packed, *bias;
    void *dst;
    unsigned type; /* of dst; the type of src is the kernel's */
    unsigned w, ns, nd, groups, n; /* w: width of the small tensor; n: results, one per thread */
};

/* A thread's result is a pixel of the small tensor, a tap and a group of channels. */
DEVICE void transpose_as(const struct transpose_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned group = i % k->groups, tap = i / k->groups % 4, small = i / k->groups / 4;
        unsigned lanes = k->groups * LANES, first = group * LANES;
        const float *p = k->packed + tap * k->ns * lanes + first;
        unsigned dst = large_pixel(small, tap, k->w) * k->nd + first;
        float sum[LANES];

        for (unsigned l = 0; l < LANES; l++)
            sum[l] = first + l < k->nd ? k->bias[first + l] : 0;
        for (unsigned c = 0; c < k->ns; c++, p += lanes) {
            float v = gpu_load(k->src, small * k->ns + c, type);

            for (unsigned l = 0; l < LANES; l++)
                sum[l] += v * p[l];
        }
        for (unsigned l = 0; l < LANES && first + l < k->nd; l++)
            gpu_store(k->dst, dst + l, k->type, sum[l]);
    }
}

/* A thread's result is a pixel of the small tensor and a group of channels. */
DEVICE void transpose_grad_input_as(const struct transpose_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned group = i % k->groups, small = i / k->groups;
        unsigned lanes = k->groups * LANES, first = group * LANES;
        const float *p = k->packed + first;
        float sum[LANES];

        for (unsigned l = 0; l < LANES; l++)
            sum[l] = 0;
        for (unsigned tap = 0; tap < 4; tap++) {
            unsigned s = large_pixel(small, tap, k->w) * k->ns;

            for (unsigned c = 0; c < k->ns; c++, p += lanes) {
                float v = gpu_load(k->src, s + c, type);

                for (unsigned l = 0; l < LANES; l++)
                    sum[l] += v * p[l];
            }
        }
        for (unsigned l = 0; l < LANES && first + l < k->nd; l++)
            gpu_store(k->dst, small * k->nd + first + l, k->type, sum[l]);
    }
}

TYPED_KERNEL(transpose, transpose_args)
TYPED_KERNEL(transpose_grad_input, transpose_args)

/* Partial sums of dw[tap][input][output], and then of db, over a part of the small tensor's rows:
 * the pixels of a row are added up in float, rows in double. */
struct transpose_grad_weights_args {
    const void *dy, *src;
    float *partials; /* [nparts][count] */
    unsigned rows, w, ni, no, count, nparts;
};

DEVICE float transpose_grad_weights_row(const struct transpose_grad_weights_args *k, unsigned row,
                                        unsigned element, unsigned type)
{
    unsigned o = element % k->no, i = element / k->no % k->ni, tap = element / k->no / k->ni;
    unsigned src = row * k->w * k->ni + i;
    float sum = 0;

    for (unsigned x = 0; x < k->w; x++) {
        unsigned small = row * k->w + x;

        if (tap < 4)
            sum += gpu_load(k->src, src + x * k->ni, type) *
                   gpu_load(k->dy, large_pixel(small, tap, k->w) * k->no + o, type);
        else /* a column of ones: the bias */
            for (unsigned t = 0; t < 4; t++)
                sum += gpu_load(k->dy, large_pixel(small, t, k->w) * k->no + o, type);
    }
    return sum;
}

DEVICE void transpose_grad_weights_as(const struct transpose_grad_weights_args *k, unsigned type)
{
    unsigned each = (k->rows + k->nparts - 1) / k->nparts;

    for (unsigned i = gpu_index(); i < k->count * k->nparts; i += gpu_stride()) {
        unsigned begin = i / k->count * each, end = begin + each < k->rows ? begin + each : k->rows;
        double sum = 0;

        for (unsigned row = begin; row < end; row++)
            sum += (double)transpose_grad_weights_row(k, row, i % k->count, type);
        k->partials[i] = (float)sum;
    }
}

TYPED_KERNEL(transpose_grad_weights, transpose_grad_weights_args)

/* Add the partial sums up to dw[input][output][tap] and db. */
struct transpose_add_partials_args {
    const float *partials;
    float *dw, *db;
    unsigned ni, no, count, nparts;
};

KERNEL(transpose_add_partials, transpose_add_partials_args)
{
    for (unsigned j = gpu_index(); j < k.count; j += gpu_stride()) {
        unsigned o = j % k.no, i = j / k.no % k.ni, tap = j / k.no / k.ni;
        double sum = 0;

        for (unsigned part = 0; part < k.nparts; part++)
            sum += (double)k.partials[part * k.count + j];
        if (tap < 4)
            k.dw[(i * k.no + o) * 4 + tap] = (float)sum;
        else
            k.db[o] = (float)sum;
    }
}

C_BEGIN

static int transpose_prepare(struct op *op, struct err *e)
{
    cuda_keep_packed(op, PACK_LANES);
    return 0;
}

/* Returns the arguments of either direction; forward, bias is still NULL and n lacks the four
 * taps. */
static struct transpose_args transpose_of(const struct op *op, bool backwards)
{
    const struct tensor *src = op->in[0], *dst = op->out[0], *small = backwards ? dst : src;
    unsigned ns = (unsigned)tensor_channels(src), nd = (unsigned)tensor_channels(dst);
    unsigned groups = (nd + LANES - 1) / LANES;
    struct transpose_args k = {src->data, (const float *)op->kept, NULL, dst->data,
                               (unsigned)dst->dtype,
                               (unsigned)small->shape.dim[DIM_W], ns, nd, groups,
                               (unsigned)tensor_pixels(small) * groups};

    return k;
}

static int run_conv_transpose2d(struct op *op, struct exec *x, struct err *e)
{
    struct transpose_args k = transpose_of(op, false);

    k.bias = op->in[2]->data;
    k.n *= 4;
    LAUNCH_AS(op->in[0]->dtype, transpose, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_conv_transpose2d_grad_input(struct op *op, struct exec *x, struct err *e)
{
    struct transpose_args k = transpose_of(op, true);

    LAUNCH_AS(op->in[0]->dtype, transpose_grad_input, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static struct transpose_grad_weights_args transpose_grad_weights_of(const struct op *op)
{
    const struct tensor *dy = op->in[0], *src = op->in[2];
    struct transpose_grad_weights_args k = {dy->data, src->data, (float *)op->workspace, 0, 0, 0, 0,
                                            0, 1};

    k.rows = (unsigned)(src->shape.dim[DIM_N] * src->shape.dim[DIM_H]);
    k.w = (unsigned)src->shape.dim[DIM_W];
    k.ni = (unsigned)tensor_channels(src);
    k.no = (unsigned)tensor_channels(dy);
    k.count = (unsigned)(tensor_count(op->out[1]) + tensor_count(op->out[2]));
    while (k.nparts < MAX_PARTS && 2 * k.nparts <= k.rows &&
           (size_t)2 * k.nparts * k.count <= MAX_PARTIALS)
        k.nparts *= 2;
    return k;
}

static int transpose_prepare_grad_weights(struct op *op, struct err *e)
{
    struct transpose_grad_weights_args k = transpose_grad_weights_of(op);

    op->workspace_size = (size_t)k.nparts * k.count * sizeof(float);
    return 0;
}

static int run_conv_transpose2d_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    struct transpose_grad_weights_args k = transpose_grad_weights_of(op);
    struct transpose_add_partials_args g = {k.partials, op->out[1]->data, op->out[2]->data, k.ni,
                                            k.no, k.count, k.nparts};

    LAUNCH_AS(op->in[0]->dtype, transpose_grad_weights, gpu_blocks((size_t)k.count * k.nparts),
              x->device->stream, k);
    LAUNCH(transpose_add_partials, gpu_blocks(g.count), x->device->stream, g);
    return 0;
}

const struct kernel cuda_conv_transpose2d = {
    &conv_transpose2d_kind, cuda_supports, transpose_prepare, run_conv_transpose2d, NULL, 0, 0,
    KERNEL_ANY};
const struct kernel cuda_conv_transpose2d_grad_input = {
    &conv_transpose2d_grad_kind, cuda_supports, transpose_prepare, run_conv_transpose2d_grad_input,
    NULL, 0, OP_INPUT_ONLY, KERNEL_ANY};
const struct kernel cuda_conv_transpose2d_grad_weights = {
    &conv_transpose2d_grad_kind, cuda_supports_one_type, transpose_prepare_grad_weights,
    run_conv_transpose2d_grad_weights, NULL, 0, OP_WEIGHTS_ONLY, KERNEL_ANY};

C_END
