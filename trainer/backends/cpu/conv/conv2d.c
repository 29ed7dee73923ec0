/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions with few channels (at most 64): forward, alone or with a ReLU, and the gradient
 * of the input, which is the convolution with the window rotated by 180 degrees and the input and
 * output channels exchanged. */
#include "config.h"
#include "trainer/backends/cpu/conv/conv2d.h"

#include <string.h>

#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/core/kernel.h"

#define BAND 16      /* rows of results of a task */
#define MAX_CHANNELS 64

bool conv2d_supports(const struct op *op, const struct tensor *src, const struct tensor *dst)
{
    const struct conv_rows *rows = conv_rows_best();
    size_t ns = tensor_channels(src), nd = tensor_channels(dst);

    /* Convolutions with more channels are left to conv/winograd/. */
    if (!rows || op->attr.kernel != CONV2D_KERNEL || op->attr.stride > 1 ||
        ns > MAX_CHANNELS || nd > MAX_CHANNELS)
        return false;
    if (nd >= rows->lanes)
        return nd % rows->lanes == 0;
    return rows->lanes % nd == 0 && nd * 4 >= rows->lanes &&
           (size_t)src->shape.dim[DIM_W] % (rows->lanes / nd) == 0;
}

struct conv2d conv2d_of(const struct tensor *src, const struct tensor *dst, bool wide)
{
    size_t lanes, ns = tensor_channels(src), nd = tensor_channels(dst);
    struct conv2d plan = {.rows = conv_rows_best(), .n = (size_t)src->shape.dim[DIM_N],
                          .h = (size_t)src->shape.dim[DIM_H], .w = (size_t)src->shape.dim[DIM_W],
                          .src_channels = ns, .dst_channels = nd}, *c = &plan;

    lanes = c->rows->lanes;
    c->group = nd < lanes ? lanes / nd : 1;
    c->nvectors = wide && nd % (2 * lanes) == 0 ? 2 : 1;
    c->nblocks = c->group > 1 ? 1 : nd / (c->nvectors * lanes);
    c->nk = (CONV2D_KERNEL + c->group - 1) * ns;
    c->ngroups = c->w / c->group;
    c->dst_step = c->group * nd;
    c->width = simd_round_up((c->w + CONV2D_KERNEL - 1) * ns, lanes);
    c->nthreads = simd_threads();
    c->nchunks = conv_rows_chunks(c->n * c->h * c->w);
    c->packed = c->nblocks * CONV2D_KERNEL * c->nk * c->nvectors * lanes;
    c->bias = c->nblocks * c->nvectors * lanes;
    c->sums = c->packed + c->bias;
    c->zeros = simd_round_up(c->w * nd, lanes);
    c->room = CONV2D_KERNEL * c->width;
    return plan;
}

/* The last rows of the source that a thread has read, with a border of zeros. */
struct ring {
    float *rows; /* [CONV2D_KERNEL][width]: row y is at index (y + 1) % CONV2D_KERNEL */
    const struct conv2d *conv;
};

void conv2d_copy_row(const struct conv2d *c, const struct tensor *src, size_t y, float *row)
{
    size_t ci = c->src_channels, n = c->w * ci;

    memset(row, 0, ci * sizeof *row);
    memcpy(row + ci, src->data + y * n, n * sizeof *row);
    memset(row + ci + n, 0, (c->width - ci - n) * sizeof *row);
}

/* Reads row y1 - 1 of an image of the source into the ring; zeros if the image does not have it. */
static void fill_row(const struct ring *r, const struct tensor *src, size_t image, size_t y1)
{
    const struct conv2d *c = r->conv;
    float *row = r->rows + y1 % CONV2D_KERNEL * c->width;

    if (y1 == 0 || y1 > c->h)
        memset(row, 0, c->width * sizeof *row);
    else
        conv2d_copy_row(c, src, image * c->h + y1 - 1, row);
}

size_t conv2d_packed_at(const struct conv2d *c, size_t i, size_t j, size_t s, size_t d, size_t p)
{
    size_t wide = c->nvectors * c->rows->lanes, k = (j + p) * c->src_channels + s;

    return ((d / wide * CONV2D_KERNEL + i) * c->nk + k) * wide + p * c->dst_channels + d % wide;
}

/* Packs w[O][I][3][3] into the order of conv_rows.h; turned: for the gradient of the input. */
static void conv2d_pack(const struct conv2d *c, const float *w, bool turned, float *packed)
{
    size_t nd = c->dst_channels, ns = c->src_channels;

    memset(packed, 0, c->packed * sizeof *packed);
    for (size_t d = 0; d < nd; d++)
        for (size_t s = 0; s < ns; s++) {
            const float *tap = w +
                               (turned ? s * nd + d : d * ns + s) * CONV2D_KERNEL * CONV2D_KERNEL;

            for (size_t k = 0; k < (size_t)CONV2D_KERNEL * CONV2D_KERNEL; k++)
                for (size_t p = 0; p < c->group; p++)
                    packed[conv2d_packed_at(c, k / CONV2D_KERNEL, k % CONV2D_KERNEL, s, d, p)] =
                        tap[turned ? CONV2D_KERNEL * CONV2D_KERNEL - 1 - k : k];
        }
}

static void conv2d_pack_bias(const struct conv2d *c, const float *bias, float *packed)
{
    for (size_t i = 0; i < c->bias; i++)
        packed[i] = bias ? bias[i % c->dst_channels] : 0;
}

VECTOR_CLONES static void make_at_least_0(float *y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

/* Computes row y of an image's results. The ring has rows y - 1 and y of the source already. */
static void correlate_row(const struct ring *r, const struct tensor *src, size_t image, size_t y,
                          const float *packed, const float *bias, float *dst)
{
    const struct conv2d *c = r->conv;
    size_t wide = c->nvectors * c->rows->lanes;
    const float *rows[CONV2D_KERNEL]; /* from top to bottom */

    fill_row(r, src, image, y + 2);
    for (size_t i = 0; i < CONV2D_KERNEL; i++)
        rows[i] = r->rows + (y + i) % CONV2D_KERNEL * c->width;
    for (size_t b = 0; b < c->nblocks; b++)
        c->rows->forward(rows, CONV2D_KERNEL, c->group * c->src_channels, c->nk,
                         packed + b * CONV2D_KERNEL * c->nk * wide, bias + b * wide, c->ngroups,
                         c->dst_step, c->nvectors, dst + b * wide);
    if (c->relu)
        make_at_least_0(dst, c->w * c->dst_channels);
}

static void correlate_band(const struct conv2d *c, const struct tensor *src, const float *packed,
                           const float *bias, size_t image, size_t from, size_t to, float *kept,
                           const struct tensor *dst)
{
    struct ring ring = {kept, c};
    size_t row = c->w * c->dst_channels;

    fill_row(&ring, src, image, from);
    fill_row(&ring, src, image, from + 1);
    for (size_t y = from; y < to; y++)
        correlate_row(&ring, src, image, y, packed, bias, dst->data + (image * c->h + y) * row);
}

/* The pointers into the workspace during one run. */
struct conv2d_workspace {
    float *packed, *bias, *rooms;
};

static struct conv2d_workspace conv2d_workspace_of(const struct conv2d *c, struct simd_workspace *w)
{
    return (struct conv2d_workspace){
        .packed = simd_take(w, c->packed, sizeof(float)),
        .bias = simd_take(w, c->bias, sizeof(float)),
        .rooms = simd_take(w, c->nthreads * c->room, sizeof(float)),
    };
}

static int conv2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct conv2d *c = op->priv;
    struct conv2d_workspace p =
        conv2d_workspace_of(c, &(struct simd_workspace){op->workspace, 0});
    size_t nbands = (c->h + BAND - 1) / BAND;

    conv2d_pack(c, op->in[1]->data, op->kind == &conv2d_grad_input_kind, p.packed);
    conv2d_pack_bias(c, op->in[2] ? op->in[2]->data : NULL, p.bias);
#pragma omp parallel for schedule(dynamic) num_threads(c->nthreads)
    for (size_t i = 0; i < c->n * nbands; i++) {
        size_t from = i % nbands * BAND, to = from + BAND < c->h ? from + BAND : c->h;

        correlate_band(c, op->in[0], p.packed, p.bias, i / nbands, from, to,
                       p.rooms + simd_thread() * c->room, op->out[0]);
    }
    return 0;
}

static bool conv2d_kernel_supports(const struct op *op)
{
    return conv2d_supports(op, op->in[0], op->out[0]);
}

static int conv2d_prepare(struct op *op, struct err *e)
{
    struct conv2d c = conv2d_of(op->in[0], op->out[0], true);
    struct simd_workspace w = {0};

    c.relu = op->kind == &conv2d_relu_kind;
    conv2d_workspace_of(&c, &w);
    op->workspace_size = w.size;
    return simd_keep(op, &c, sizeof c, e);
}

#define KERNEL_OF(_kind) \
    .kind = &_kind, .supports = conv2d_kernel_supports, .prepare = conv2d_prepare, \
    .run = conv2d_run, .release = simd_release

const struct kernel simd_conv2d = {KERNEL_OF(conv2d_kind)};
const struct kernel simd_conv2d_relu = {KERNEL_OF(conv2d_relu_kind)};
const struct kernel simd_conv2d_grad_input = {KERNEL_OF(conv2d_grad_input_kind)};
