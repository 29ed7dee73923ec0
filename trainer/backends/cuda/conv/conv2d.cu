/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct convolutions of any size and type, with stride 1 or 2, for ops that no faster kernel
 * supports. A thread computes LANES channels of one pixel or, of the gradients of weights and bias,
 * one number over a part of the rows. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#define MAX_PARTS 256
/* Floats of all partial sums of dw and db, unless one part has more. */
#define MAX_PARTIALS ((size_t)4 << 20)

struct correlate_args {
    const void *src;
    const float *packed, *bias; /* bias may be NULL */
    void *dst;
    unsigned type; /* of dst */
    unsigned h, w, ns, nd, side, groups, n; /* n: pixels times groups, which have LANES channels
                                             * each */
    unsigned src_h, src_w;
    unsigned stride; /* distance in src of neighbours in dst, in pixels */
    unsigned up;     /* distance in dst of neighbours in src; 1 unless stride is 1 */
    unsigned relu;   /* negative results become 0 */
};

/* type: of src */
DEVICE void correlate_as(const struct correlate_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned group = i % k->groups, pixel = i / k->groups, lanes = k->groups * LANES;
        unsigned column = pixel % k->w, row = pixel / k->w % k->h, pad = k->side / 2;
        float sum[LANES];

        for (unsigned l = 0; l < LANES; l++)
            sum[l] = k->bias && group * LANES + l < k->nd ? k->bias[group * LANES + l] : 0;
        for (unsigned tap = 0; tap < k->side * k->side; tap++) {
            unsigned y = row * k->stride + tap / k->side - pad; /* wraps around below 0 */
            unsigned x = column * k->stride + tap % k->side - pad;
            const float *p = k->packed + tap * k->ns * lanes + group * LANES;
            unsigned s;

            if (k->up == 2) {
                if ((y | x) & 1)
                    continue;
                y /= 2;
                x /= 2;
            }
            if (y >= k->src_h || x >= k->src_w)
                continue;
            s = ((pixel / (k->h * k->w) * k->src_h + y) * k->src_w + x) * k->ns;
            for (unsigned c = 0; c < k->ns; c++, p += lanes) {
                float v = gpu_load(k->src, s + c, type);

                for (unsigned l = 0; l < LANES; l++)
                    sum[l] += v * p[l];
            }
        }
        for (unsigned l = 0; l < LANES && group * LANES + l < k->nd; l++)
            gpu_store(k->dst, pixel * k->nd + group * LANES + l, k->type,
                      k->relu ? fmaxf(sum[l], 0.f) : sum[l]);
    }
}

TYPED_KERNEL(correlate, correlate_args)

/* Partial sums of dw[tap][input channel][output channel], and then of db, over a part of the rows:
 * the pixels of a row are added up in float, rows in double. */
struct grad_weights_args {
    const void *dy, *src;
    float *partials; /* [nparts][count] */
    unsigned rows, h, w, ns, nd, side, count, nparts; /* of dy; rows are counted over all images */
    unsigned src_h, src_w, stride;
    unsigned dy_type, src_type;
};

DEVICE float grad_weights_row(const struct grad_weights_args *k, unsigned row, unsigned element,
                              unsigned dy_type, unsigned src_type)
{
    unsigned d = element % k->nd, c = element / k->nd % k->ns, tap = element / k->nd / k->ns;
    unsigned pad = k->side / 2, dx = tap % k->side - pad;
    unsigned y = row % k->h * k->stride + tap / k->side - pad;
    unsigned dy = row * k->w * k->nd + d;
    float sum = 0;

    if (tap == k->side * k->side) { /* a column of ones: the bias */
        for (unsigned x = 0; x < k->w; x++)
            sum += gpu_load(k->dy, dy + x * k->nd, dy_type);
        return sum;
    }
    if (y >= k->src_h)
        return 0;
    unsigned src = (row / k->h * k->src_h + y) * k->src_w * k->ns + c;
    for (unsigned x = 0; x < k->w; x++)
        if (x * k->stride + dx < k->src_w) /* dx may have wrapped around */
            sum += gpu_load(k->dy, dy + x * k->nd, dy_type) *
                   gpu_load(k->src, src + (x * k->stride + dx) * k->ns, src_type);
    return sum;
}

DEVICE void grad_weights_rows(const struct grad_weights_args *k, unsigned dy_type,
                              unsigned src_type)
{
    unsigned each = (k->rows + k->nparts - 1) / k->nparts;

    for (unsigned i = gpu_index(); i < k->count * k->nparts; i += gpu_stride()) {
        unsigned begin = i / k->count * each, end = begin + each < k->rows ? begin + each : k->rows;
        double sum = 0;

        for (unsigned row = begin; row < end; row++)
            sum += (double)grad_weights_row(k, row, i % k->count, dy_type, src_type);
        k->partials[i] = (float)sum;
    }
}

DEVICE void grad_weights_as(const struct grad_weights_args *k, unsigned type)
{
    grad_weights_rows(k, type, type);
}

TYPED_KERNEL(grad_weights, grad_weights_args)

KERNEL(grad_weights_mixed, grad_weights_args)
{
    grad_weights_rows(&k, k.dy_type, k.src_type);
}

/* Add the partial sums up to dw[output][input][tap] and db. */
struct add_partials_args {
    const float *partials;
    float *dw, *db;
    unsigned ns, nd, taps, count, nparts;
};

KERNEL(add_partials, add_partials_args)
{
    for (unsigned i = gpu_index(); i < k.count; i += gpu_stride()) {
        unsigned d = i % k.nd, c = i / k.nd % k.ns, tap = i / k.nd / k.ns;
        double sum = 0;

        for (unsigned part = 0; part < k.nparts; part++)
            sum += (double)k.partials[part * k.count + i];
        if (tap < k.taps)
            k.dw[(d * k.ns + c) * k.taps + tap] = (float)sum;
        else
            k.db[d] = (float)sum;
    }
}

C_BEGIN

static int conv2d_prepare(struct op *op, struct err *e)
{
    cuda_keep_packed(op, PACK_LANES);
    return 0;
}

static unsigned stride_of(const struct op *op)
{
    return op->attr.stride > 1 ? 2 : 1;
}

/* Queues op->out[0] = op->in[0] * op->in[1]; backwards with the channels exchanged and the taps
 * flipped. */
static void convolve(const struct op *op, const float *bias, bool backwards, cudaStream_t stream)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    unsigned ns = (unsigned)tensor_channels(src), nd = (unsigned)tensor_channels(dst);
    unsigned side = (unsigned)op->attr.kernel, groups = (nd + LANES - 1) / LANES;
    struct correlate_args c = {src->data,
                               (const float *)op->kept,
                               bias,
                               dst->data,
                               (unsigned)dst->dtype,
                               (unsigned)dst->shape.dim[DIM_H],
                               (unsigned)dst->shape.dim[DIM_W],
                               ns,
                               nd,
                               side,
                               groups,
                               (unsigned)tensor_pixels(dst) * groups,
                               (unsigned)src->shape.dim[DIM_H],
                               (unsigned)src->shape.dim[DIM_W],
                               backwards ? 1 : stride_of(op),
                               backwards ? stride_of(op) : 1,
                               op->attr.relu};

    LAUNCH_AS(src->dtype, correlate, gpu_blocks(c.n), stream, c);
}

static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    convolve(op, op->in[2] ? op->in[2]->data : NULL, false, x->device->stream);
    return 0;
}

static int run_conv2d_grad_input(struct op *op, struct exec *x, struct err *e)
{
    convolve(op, NULL, true, x->device->stream);
    return 0;
}

static struct grad_weights_args grad_weights_of(const struct op *op)
{
    const struct tensor *dy = op->in[0], *src = op->in[2];
    struct grad_weights_args k = {dy->data, src->data, (float *)op->workspace, 0, 0, 0, 0, 0, 0, 0,
                                  1, (unsigned)src->shape.dim[DIM_H],
                                  (unsigned)src->shape.dim[DIM_W], stride_of(op),
                                  (unsigned)dy->dtype, (unsigned)src->dtype};

    k.h = (unsigned)dy->shape.dim[DIM_H];
    k.w = (unsigned)dy->shape.dim[DIM_W];
    k.rows = (unsigned)dy->shape.dim[DIM_N] * k.h;
    k.ns = (unsigned)tensor_channels(src);
    k.nd = (unsigned)tensor_channels(dy);
    k.side = (unsigned)op->attr.kernel;
    k.count = (unsigned)tensor_count(op->out[1]);
    if (op->out[2])
        k.count += (unsigned)tensor_count(op->out[2]);
    while (k.nparts < MAX_PARTS && 2 * k.nparts <= k.rows &&
           (size_t)2 * k.nparts * k.count <= MAX_PARTIALS)
        k.nparts *= 2;
    return k;
}

static int conv2d_prepare_grad_weights(struct op *op, struct err *e)
{
    struct grad_weights_args k = grad_weights_of(op);

    op->workspace_size = (size_t)k.nparts * k.count * sizeof(float);
    return 0;
}

static int run_conv2d_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    struct grad_weights_args k = grad_weights_of(op);
    unsigned nblocks = gpu_blocks((size_t)k.count * k.nparts);
    struct add_partials_args g = {k.partials, op->out[1]->data, NULL,    k.ns,
                                  k.nd,       k.side * k.side,  k.count, k.nparts};

    if (op->out[2])
        g.db = op->out[2]->data;
    if (k.dy_type == k.src_type)
        LAUNCH_AS(k.src_type, grad_weights, nblocks, x->device->stream, k);
    else
        LAUNCH(grad_weights_mixed, nblocks, x->device->stream, k);
    LAUNCH(add_partials, gpu_blocks(g.count), x->device->stream, g);
    return 0;
}

const struct kernel cuda_conv2d = {
    &conv2d_kind, cuda_supports, conv2d_prepare, run_conv2d, NULL, OP_NO_BIAS | OP_RELU, 0,
    KERNEL_ANY};
const struct kernel cuda_conv2d_grad_input = {
    &conv2d_grad_kind, cuda_supports, conv2d_prepare, run_conv2d_grad_input, NULL, 0, OP_INPUT_ONLY,
    KERNEL_ANY};
const struct kernel cuda_conv2d_grad_weights = {
    &conv2d_grad_kind, cuda_supports, conv2d_prepare_grad_weights, run_conv2d_grad_weights, NULL,
    OP_NO_BIAS, OP_WEIGHTS_ONLY, KERNEL_ANY};

C_END
