/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions of bf16 with few channels, a band of rows at a time: half_planes.h has the
 * arithmetic, here are the borders, the order of the weights, and the threads. The weights are rounded
 * to bf16.
 *
 * The gradient of the input is the same convolution with the window turned by 180 degrees and the
 * roles of the channels changed. The gradient of the weights is in half_conv_weights.c. */
#include "config.h"
#include "trainer/backends/simd/half_conv.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/simd/float_rows.h"
#include "trainer/backends/simd/half.h"
#include "trainer/backends/simd/half_planes.h"
#include "trainer/backends/simd/simd.h"

#define KERNEL 3
#define PAIR 2
#define BAND 32          /* rows of a result that one thread computes at a time */
#define MAX_PLANES 16384 /* numbers of a window's rows: what the first cache holds */
#define ROUND 16
#define MAX_CHANNELS 16  /* with more Winograd's transforms are faster, though of floats */

/* op->priv; for the gradient of the input, src is dy. */
struct half_conv {
    const struct half_planes *planes;
    size_t nimages, height, width;
    size_t src_channels, dst_channels;
    size_t npairs;
    size_t strip, nstrips, nbands; /* columns of a strip; strips and bands of an image */
    size_t stride, row;            /* pairs of a plane, of all planes of a row of the source */
    size_t packed, bias;           /* pairs of the weights; floats */
    size_t nthreads;
};

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static struct half_conv *create(const struct roles *r)
{
    struct half_conv *c = calloc(1, sizeof *c);
    size_t most;

    if (!c)
        return NULL;
    c->planes = half_planes_best();
    c->nimages = (size_t)r->src[0]->shape.dim[DIM_N];
    c->height = (size_t)r->src[0]->shape.dim[DIM_H];
    c->width = (size_t)r->src[0]->shape.dim[DIM_W];
    c->src_channels = roles_channels(r->src);
    c->dst_channels = roles_channels(r->dst);
    c->npairs = c->src_channels / PAIR;
    most = MAX_PLANES / (KERNEL * c->src_channels);
    c->nstrips = most < c->width ? (c->width + most - 1) / most : 1;
    c->strip = round_up((c->width + c->nstrips - 1) / c->nstrips, ROUND);
    c->nstrips = (c->width + c->strip - 1) / c->strip;
    c->nbands = (c->height + BAND - 1) / BAND;
    c->stride = round_up(c->strip + KERNEL - 1, ROUND) + 3 * HALF_PLANES_LANES;
    c->row = c->npairs * c->stride;
    c->packed = (size_t)KERNEL * KERNEL * c->npairs * c->dst_channels;
    c->bias = c->dst_channels;
    c->nthreads = simd_threads();
    return c;
}

static uint32_t pair_of(float first, float second)
{
    return (uint32_t)half_narrow(second) << 16 | half_narrow(first);
}

/* packed[block of d][row][column][pair][d], from w[O][I][3][3]; turned: for the gradient of the
 * input. */
static void pack(const struct half_conv *c, const float *w, bool turned, uint32_t *packed)
{
    size_t ns = c->src_channels, nd = c->dst_channels, window = (size_t)KERNEL * KERNEL;
    size_t step = window * (turned ? nd : 1);

#pragma omp parallel for schedule(static) num_threads(c->nthreads)
    for (size_t d = 0; d < nd; d++)
        for (size_t p = 0; p < c->npairs; p++) {
            const float *tap = w + (turned ? PAIR * p * nd + d : d * ns + PAIR * p) * window;
            uint32_t *to = packed + d / HALF_PLANES_BLOCK * HALF_PLANES_BLOCK * window * c->npairs +
                           p * HALF_PLANES_BLOCK + d % HALF_PLANES_BLOCK;

            for (size_t k = 0; k < window; k++) {
                size_t from = turned ? window - 1 - k : k;

                to[k * c->npairs * HALF_PLANES_BLOCK] = pair_of(tap[from], tap[step + from]);
            }
        }
}

/* What a thread computes: a strip of a band of rows of an image. */
struct task {
    size_t image, from, to; /* rows */
    size_t left, right;     /* columns */
};

static struct task task_of(const struct half_conv *c, size_t i)
{
    size_t band = i / c->nstrips % c->nbands * BAND, strip = i % c->nstrips * c->strip;
    size_t to = band + BAND, right = strip + c->strip;

    return (struct task){i / (c->nstrips * c->nbands), band, to < c->height ? to : c->height, strip,
                         right < c->width ? right : c->width};
}

/* The planes of row y1 - 1, beside which all is zero; the first column is the one left of the strip. */
static void fill_row(const struct half_conv *c, const struct roles *roles, const struct task *t,
                     size_t y1, uint32_t *planes)
{
    size_t first = t->left > 0 ? t->left - 1 : 0, skip = t->left > 0 ? 0 : 1;
    size_t end = t->right < c->width ? t->right + 1 : c->width;
    size_t line = (t->image * c->height + y1 - 1) * c->width + first;

    if (y1 == 0 || y1 > c->height) {
        memset(planes, 0, c->row * sizeof *planes);
        return;
    }
    for (size_t k = 0, at = 0; k < PARTS && roles->src[k]; k++) {
        size_t n = tensor_channels(roles->src[k]);

        c->planes->pairs(roles->src[k]->half + line * n, n, n, end - first,
                          planes + at * c->stride + skip, c->stride);
        at += n / PAIR;
    }
    for (size_t p = 0; p < c->npairs; p++) {
        if (skip)
            planes[p * c->stride] = 0;
        if (end == t->right)
            planes[p * c->stride + skip + end - first] = 0;
    }
}

static void correlate_row(const struct half_conv *c, const struct roles *roles,
                          const struct task *t, size_t y, const uint32_t *ring,
                          const uint32_t *packed, const float *bias)
{
    const uint32_t *rows[KERNEL];
    size_t at = (t->image * c->height + y) * c->width + t->left;
    size_t block = (size_t)KERNEL * KERNEL * c->npairs * HALF_PLANES_BLOCK;

    for (size_t i = 0; i < KERNEL; i++)
        rows[i] = ring + (y + i) % KERNEL * c->row;
    for (size_t k = 0; k < PARTS && roles->dst[k]; k++) {
        size_t n = tensor_channels(roles->dst[k]);

        for (size_t d = 0; d < n; d += HALF_PLANES_BLOCK, packed += block, bias += HALF_PLANES_BLOCK)
            c->planes->forward(rows, c->npairs, c->stride, packed, bias, t->right - t->left, n,
                               roles->dst[k]->half + at * n + d);
    }
}

/* What is read for the row below row y of results, and written for it. */
static void fetch_rows(const struct half_conv *c, const struct roles *roles, const struct task *t,
                       size_t y)
{
    size_t at = (t->image * c->height + y) * c->width + t->left, width = t->right - t->left;

    for (size_t k = 0; k < PARTS && roles->src[k] && y + 2 < c->height; k++) {
        size_t n = tensor_channels(roles->src[k]);

        float_rows_fetch(roles->src[k], (at + 2 * c->width) * n, width * n);
    }
    for (size_t k = 0; k < PARTS && roles->dst[k]; k++) {
        size_t n = tensor_channels(roles->dst[k]);

        float_rows_fetch(roles->dst[k], at * n, width * n);
    }
}

static void correlate_task(const struct half_conv *c, const struct roles *roles,
                           const struct task *t, const uint32_t *packed, const float *bias,
                           uint32_t *ring)
{
    fill_row(c, roles, t, t->from, ring + t->from % KERNEL * c->row);
    fill_row(c, roles, t, t->from + 1, ring + (t->from + 1) % KERNEL * c->row);
    for (size_t y = t->from; y < t->to; y++) {
        fetch_rows(c, roles, t, y);
        fill_row(c, roles, t, y + 2, ring + (y + 2) % KERNEL * c->row);
        correlate_row(c, roles, t, y, ring, packed, bias);
    }
}

/* Workspace: weights, bias, three rows for each thread. */
static void correlate(const struct op *op, bool turned)
{
    const struct half_conv *c = op->priv;
    const struct roles roles = roles_of(op);
    uint32_t *packed = op->workspace, *rings = packed + c->packed + c->bias;
    float *bias = (float *)(void *)(packed + c->packed);

    pack(c, roles.weights->data, turned, packed);
    memset(bias, 0, c->bias * sizeof *bias);
    if (roles.bias)
        memcpy(bias, roles.bias->data, c->bias * sizeof *bias);
#pragma omp parallel for schedule(dynamic) num_threads(c->nthreads)
    for (size_t i = 0; i < c->nimages * c->nbands * c->nstrips; i++) {
        struct task t = task_of(c, i);

        correlate_task(c, &roles, &t, packed, bias, rings + simd_thread() * KERNEL * c->row);
    }
}

bool half_conv_supports(const struct op *op, const struct roles *r)
{
    if (!half_planes_best() || op->attr.kernel != 3 || op->attr.stride > 1)
        return false;
    for (size_t k = 0; k < PARTS; k++)
        if ((r->src[k] && r->src[k]->dtype != DTYPE_BF16) ||
            (r->dst[k] && r->dst[k]->dtype != DTYPE_BF16))
            return false;
    return roles_common_channels(r->src) % HALF_PLANES_BLOCK == 0 &&
           roles_common_channels(r->dst) % HALF_PLANES_BLOCK == 0 &&
           roles_channels(r->src) <= MAX_CHANNELS && roles_channels(r->dst) <= MAX_CHANNELS;
}

static bool supports(const struct op *op)
{
    const struct roles r = roles_of(op);

    return half_conv_supports(op, &r);
}

static int prepare(struct op *op, struct err *e)
{
    const struct roles r = roles_of(op);
    struct half_conv *c = create(&r);

    if (!c)
        return err_set(e, ERR_INTERNAL, "out of memory");
    op->workspace_size = (c->packed + c->bias + c->nthreads * KERNEL * c->row) * sizeof(uint32_t);
    op->priv = c;
    return 0;
}

static int run_conv2d(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, false);
    return 0;
}

static int run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    correlate(op, true);
    return 0;
}

static void release(struct op *op)
{
    free(op->priv);
}

const struct kernel simd_half_conv = {
    .kind = &conv2d_kind, .supports = supports, .prepare = prepare, .run = run_conv2d,
    .release = release, .may = OP_BARE, .types = KERNEL_HALVES};
const struct kernel simd_half_conv_concat = {
    .kind = &concat_conv2d_kind, .supports = supports, .prepare = prepare, .run = run_conv2d,
    .release = release, .types = KERNEL_HALVES};
const struct kernel simd_half_conv_grad_input = {
    .kind = &conv2d_grad_input_kind, .supports = supports, .prepare = prepare,
    .run = run_grad_input, .release = release, .types = KERNEL_HALVES};
const struct kernel simd_half_conv_concat_grad_input = {
    .kind = &concat_conv2d_grad_input_kind, .supports = supports, .prepare = prepare,
    .run = run_grad_input, .release = release, .types = KERNEL_HALVES};
