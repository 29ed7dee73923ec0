/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions and transposed convolutions. */
#include "src/base.h"
#include "trainer/backends/ref/ref.h"

/* 2D convolution with zero padding and its gradients. Where weights are read they are packed in the
 * workspace first. A transposed convolution is the gradient of the input of a convolution with a
 * window of 2x2 pixels, stride 2 and no padding. */

/* Channels of the result that are computed together, LANES forward and for the gradient of the
 * input, GRAD_LANES for the gradient of the weights. */
#define LANES 16
#define GRAD_LANES 8

struct geometry {
    size_t n, src_h, src_w, dst_h, dst_w;
    size_t src_channels, dst_channels;
    size_t kernel;
    size_t dilation;
    size_t pad;
    size_t stride; /* pixels of src from one pixel of dst to the next */
    size_t up;     /* for the gradient of the input: pixels of dst from one pixel of src to the
                    * next */
    bool relu;     /* behind the convolution */
};

static struct geometry ref_conv2d_geometry_of(const struct tensor *src, const struct tensor *dst,
                                              const struct op *op)
{
    const int64_t *s = src->shape.dim, *d = dst->shape.dim;
    size_t kernel = (size_t)op->attr.kernel, dilation = (size_t)op_dilation(op);
    bool transposed = kernel == 0;

    return (struct geometry){(size_t)d[DIM_N], (size_t)s[DIM_H], (size_t)s[DIM_W], (size_t)d[DIM_H],
                             (size_t)d[DIM_W], tensor_channels(src), tensor_channels(dst),
                             transposed ? 2 : kernel, dilation, dilation * (kernel / 2),
                             transposed || op->attr.stride > 1 ? 2 : 1, 1,
                             op->kind == &conv2d_relu_kind};
}

/* Bytes of the weights packed to [dst channels / LANES][K][K][src channels][LANES], padded with
 * zeros; a multiple of 64. */
static size_t packed_size(const struct op *op)
{
    size_t nchannels = tensor_channels(op->out[0]);

    return tensor_count(op->in[1]) / nchannels * round_up(nchannels, LANES) * sizeof(float);
}

static int ref_conv2d_prepare_packed(struct op *op, struct err *e)
{
    op->workspace_size = packed_size(op);
    return 0;
}

/* Computes LANES channels of one pixel of dst. Taps outside the image are zero. */
VECTOR_CLONES static void correlate_pixel(const struct geometry *g, const float *src,
                                          const float *packed, size_t row, size_t column,
                                          float *restrict sum)
{
    float lanes[LANES] = {0};

    for (size_t i = 0; i < g->kernel; i++)
        for (size_t j = 0; j < g->kernel; j++) {
            size_t y = row * g->stride + i * g->dilation - g->pad; /* -1 wraps to a large number */
            size_t x = column * g->stride + j * g->dilation - g->pad;
            const float *w = packed + (i * g->kernel + j) * g->src_channels * LANES, *s;

            if (y % g->up || x % g->up || y / g->up >= g->src_h || x / g->up >= g->src_w)
                continue;
            s = src + (y / g->up * g->src_w + x / g->up) * g->src_channels;
            for (size_t ci = 0; ci < g->src_channels; ci++, w += LANES)
                for (size_t l = 0; l < LANES; l++)
                    lanes[l] += s[ci] * w[l];
        }
    memcpy(sum, lanes, sizeof lanes);
}

/* dst = src * packed + bias; bias may be NULL. */
static void ref_conv2d_correlate(const struct geometry *g, const float *src, const float *packed,
                                 const float *bias, float *dst)
{
    size_t image = g->src_h * g->src_w * g->src_channels;
    size_t block = g->kernel * g->kernel * g->src_channels;

#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < g->n * g->dst_h; row++)
        for (size_t x = 0; x < g->dst_w; x++)
            for (size_t first = 0; first < g->dst_channels; first += LANES) {
                float sum[LANES], *d = dst + (row * g->dst_w + x) * g->dst_channels;

                correlate_pixel(g, src + row / g->dst_h * image, packed + first * block,
                                row % g->dst_h, x, sum);
                for (size_t co = first; co < g->dst_channels && co < first + LANES; co++) {
                    float y = sum[co - first] + (bias ? bias[co] : 0);

                    d[co] = g->relu && !(y > 0) ? 0 : y;
                }
            }
}

static float *packed_at(const struct geometry *g, float *packed, size_t co, size_t k, size_t ci)
{
    size_t taps = g->kernel * g->kernel;

    return packed + ((co / LANES * taps + k) * g->src_channels + ci) * LANES + co % LANES;
}

static void clear_packed(const struct geometry *g, float *packed)
{
    size_t nchannels = round_up(g->dst_channels, LANES);

    memset(packed, 0, nchannels * g->kernel * g->kernel * g->src_channels * sizeof *packed);
}

/* Also the gradient of the input, which is a correlation with the window rotated by 180 degrees. */
static int ref_conv2d_run(struct op *op, struct exec *x, struct err *e)
{
    struct geometry g = ref_conv2d_geometry_of(op->in[0], op->out[0], op);
    bool turned = op->kind == &conv2d_grad_input_kind || op->kind == &conv_transpose2d_kind;
    size_t taps = g.kernel * g.kernel, ni = turned ? g.dst_channels : g.src_channels;
    const float *w = op->in[1]->data;
    float *packed = op->workspace;

    if (turned) {
        g.pad = g.dilation * (g.kernel - 1) - g.pad;
        g.up = g.stride;
        g.stride = 1;
    }
    clear_packed(&g, packed);
    for (size_t o = 0; o < (turned ? g.src_channels : g.dst_channels); o++)
        for (size_t i = 0; i < ni; i++)
            for (size_t k = 0; k < taps; k++)
                *(turned ? packed_at(&g, packed, i, taps - 1 - k, o)
                         : packed_at(&g, packed, o, k, i)) = *w++;
    ref_conv2d_correlate(&g, op->in[0]->data, packed, op->in[2] ? op->in[2]->data : NULL,
                         op->out[0]->data);
    return 0;
}

/* sum[l] += the sum over the pixels of a row of x[0] * dy[l], in float over the row. */
VECTOR_CLONES static void sum_row(const float *x, size_t x_stride, const float *dy,
                                  size_t dy_stride, size_t npixels, size_t n, double *restrict sum)
{
    float lanes[GRAD_LANES] = {0};

    if (n >= GRAD_LANES) /* the usual case: the length is a constant */
        for (size_t p = 0; p < npixels; p++, x += x_stride, dy += dy_stride)
            for (size_t l = 0; l < GRAD_LANES; l++)
                lanes[l] += *x * dy[l];
    else
        for (size_t p = 0; p < npixels; p++, x += x_stride, dy += dy_stride)
            for (size_t l = 0; l < n; l++)
                lanes[l] += *x * dy[l];
    for (size_t l = 0; l < n && l < GRAD_LANES; l++)
        sum[l] += (double)lanes[l];
}

/* Sums one tap and one input channel for all output channels. */
static void ref_conv2d_sum_tap(const struct geometry *g, const float *dy, const float *x,
                               size_t tap, size_t ci, double *restrict sum)
{
    size_t pad = g->pad, stride = g->stride;
    size_t i = tap / g->kernel * g->dilation, j = tap % g->kernel * g->dilation;
    size_t x0 = j < pad ? (pad - j + stride - 1) / stride : 0;
    size_t end = g->src_w + pad > j ? (g->src_w + pad - j + stride - 1) / stride : 0;
    size_t x1 = end < g->dst_w ? end : g->dst_w;
    size_t co_n = g->dst_channels;

    memset(sum, 0, co_n * sizeof *sum);
    for (size_t row = 0; row < g->n * g->dst_h; row++) {
        size_t y = row % g->dst_h * stride + i - pad;
        const float *d = dy + (row * g->dst_w + x0) * co_n, *s;

        if (y >= g->src_h || x0 >= x1)
            continue;
        s = x + ((row / g->dst_h * g->src_h + y) * g->src_w + x0 * stride + j - pad) *
                    g->src_channels + ci;
        for (size_t co = 0; co < co_n; co += GRAD_LANES)
            sum_row(s, stride * g->src_channels, d + co, co_n, x1 - x0, co_n - co, sum + co);
    }
}

/* Workspace: the sums, and what chunks_sum() needs for the bias. */
static int ref_conv2d_prepare_grad_weights(struct op *op, struct err *e)
{
    op->workspace_size = tensor_count(op->out[0]) * sizeof(double);
    if (op->out[1])
        op->workspace_size += chunks_workspace(tensor_count(op->out[1])) * sizeof(double);
    return 0;
}

static int ref_conv2d_run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    bool transposed = op->kind == &conv_transpose2d_grad_weights_kind;
    const struct tensor *dy = op->in[transposed], *src = op->in[!transposed];
    struct geometry g = ref_conv2d_geometry_of(src, dy, op);
    size_t taps = g.kernel * g.kernel, ntasks = taps * g.src_channels, co_n = g.dst_channels;
    double *sums = op->workspace, *bias_sums = sums + ntasks * co_n;
    float *dw = op->out[0]->data;

#pragma omp parallel for schedule(static)
    for (size_t t = 0; t < ntasks; t++) {
        size_t tap = t / g.src_channels, ci = t % g.src_channels;

        ref_conv2d_sum_tap(&g, dy->data, src->data, tap, ci, sums + t * co_n);
        for (size_t co = 0; co < co_n; co++)
            dw[(co * g.src_channels + ci) * taps + tap] = (float)sums[t * co_n + co];
    }
    if (op->out[1])
        chunks_bias(op->in[0], bias_sums, op->out[1]->data);
    return 0;
}

/* The two gradients that a conv2d_grad computes, as ops of their own that share its workspace. */
static struct op grad_part(const struct op *op, const struct op_kind *kind)
{
    struct op part = {.kind = kind, .attr = op->attr, .workspace = op->workspace};

    part.in[0] = op->in[0];
    part.in[1] = op->in[kind == &conv2d_grad_input_kind ? 1 : 2];
    part.out[0] = op->out[kind == &conv2d_grad_input_kind ? 0 : 1];
    part.out[1] = kind == &conv2d_grad_input_kind ? NULL : op->out[2];
    return part;
}

static int ref_conv2d_prepare_grad(struct op *op, struct err *e)
{
    struct op weights = grad_part(op, &conv2d_grad_weights_kind);
    struct op input = grad_part(op, &conv2d_grad_input_kind);

    ref_conv2d_prepare_grad_weights(&weights, e);
    ref_conv2d_prepare_packed(&input, e);
    op->workspace_size = weights.workspace_size > input.workspace_size ? weights.workspace_size
                                                                       : input.workspace_size;
    return 0;
}

static int ref_conv2d_run_grad(struct op *op, struct exec *x, struct err *e)
{
    struct op weights = grad_part(op, &conv2d_grad_weights_kind);
    struct op input = grad_part(op, &conv2d_grad_input_kind);

    ref_conv2d_run_grad_weights(&weights, x, e);
    return ref_conv2d_run(&input, x, e);
}

REF_KERNEL(conv2d, ref_conv2d_prepare_packed, ref_conv2d_run);
REF_KERNEL(conv2d_relu, ref_conv2d_prepare_packed, ref_conv2d_run);
REF_KERNEL(conv2d_grad_input, ref_conv2d_prepare_packed, ref_conv2d_run);
REF_KERNEL(conv2d_grad_weights, ref_conv2d_prepare_grad_weights, ref_conv2d_run_grad_weights);
REF_KERNEL(conv2d_grad, ref_conv2d_prepare_grad, ref_conv2d_run_grad);
REF_KERNEL(conv_transpose2d, ref_conv2d_prepare_packed, ref_conv2d_run);
REF_KERNEL(conv_transpose2d_grad_input, ref_conv2d_prepare_packed, ref_conv2d_run);
REF_KERNEL(conv_transpose2d_grad_weights, ref_conv2d_prepare_grad_weights,
           ref_conv2d_run_grad_weights);
