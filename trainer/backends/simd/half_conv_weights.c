/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of the weights of 3x3 convolutions of bf16 with few channels (half_planes.h).
 *
 * A band of rows lies in a plane row behind row, with a border of zeros between them, so that a sum
 * over pixels does not end with a row. Sums of a chunk of bands, whose number does not depend on the
 * threads, stay vectors to its end; the chunks' sums are added in order. */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/simd/conv_rows.h"
#include "trainer/backends/simd/half_conv.h"
#include "trainer/backends/simd/half_planes.h"

#define KERNEL 3
#define BORDER (KERNEL - 1)
#define MAX_PLANES 98304   /* numbers of all planes of a thread: what the second cache holds */
#define MIN_ROWS 8         /* of a band, where the picture is so high */
#define MAX_CHUNKS 32
#define CHUNK_PIXELS 8192  /* at least: adding up the lanes of sums costs as much as many pixels */
#define ROUND 16
#define LINE 32            /* numbers of a line of the cache */

/* op->priv */
struct weights {
    const struct half_planes *planes;
    size_t nimages, height, width;
    size_t src_channels, dst_channels;
    size_t strip, nstrips, band, nbands; /* columns and rows; strips and bands of an image */
    size_t pitch;                        /* numbers from a row of a plane to the next */
    size_t src_plane, dst_plane;
    size_t nvectors, sums;  /* of the products; floats of a chunk's sums: weights, bias */
    size_t room;            /* floats of a thread: its vectors, then the planes */
    size_t nthreads, nchunks;
};

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* As high as it may be, and as wide if that is still some rows high. */
static void cut(struct weights *c)
{
    size_t pixels = MAX_PLANES / (c->src_channels + c->dst_channels), most = pixels / MIN_ROWS;

    c->nstrips = most < c->width ? (c->width + most - 1) / most : 1;
    c->strip = round_up((c->width + c->nstrips - 1) / c->nstrips, HALF_PLANES_PIXELS);
    c->strip = c->strip < c->width ? c->strip : c->width;
    c->nstrips = (c->width + c->strip - 1) / c->strip;
    c->band = pixels / c->strip > 0 ? pixels / c->strip : 1;
    c->nbands = (c->height + c->band - 1) / c->band;
    c->band = (c->height + c->nbands - 1) / c->nbands;
    c->pitch = c->strip + BORDER;
}

static struct weights *create(const struct roles *r)
{
    struct weights *c = calloc(1, sizeof *c);
    size_t chunks;

    if (!c)
        return NULL;
    c->planes = half_planes_best();
    c->nimages = (size_t)r->src[0]->shape.dim[DIM_N];
    c->height = (size_t)r->src[0]->shape.dim[DIM_H];
    c->width = (size_t)r->src[0]->shape.dim[DIM_W];
    c->src_channels = roles_channels(r->src);
    c->dst_channels = roles_channels(r->dst);
    cut(c);
    /* Rows and their borders, and what steps may write or read behind them. */
    c->dst_plane = round_up(c->band * c->pitch, HALF_PLANES_PIXELS) + 2 * HALF_PLANES_PIXELS;
    c->src_plane = c->dst_plane + round_up(BORDER * c->pitch, HALF_PLANES_PIXELS);
    c->nvectors = (size_t)KERNEL * KERNEL * c->src_channels * c->dst_channels;
    c->sums = c->nvectors + c->dst_channels;
    c->room = c->nvectors * HALF_PLANES_LANES +
              (c->src_channels * c->src_plane + c->dst_channels * c->dst_plane) / 2;
    c->nthreads = simd_threads();
    chunks = c->nimages * c->height * c->width / CHUNK_PIXELS;
    chunks = chunks < c->nimages * c->nbands * c->nstrips ? chunks
                                                          : c->nimages * c->nbands * c->nstrips;
    c->nchunks = chunks > MAX_CHUNKS ? MAX_CHUNKS : chunks > 0 ? chunks : 1;
    return c;
}

/* A band of rows of a strip, and where a thread has its planes. */
struct task {
    size_t image, from, to, left, right;
    uint16_t *src, *dy;
};

static struct task task_of(const struct weights *c, size_t i, uint16_t *planes)
{
    size_t band = i / c->nstrips % c->nbands * c->band, strip = i % c->nstrips * c->strip;
    size_t to = band + c->band, right = strip + c->strip;

    return (struct task){i / (c->nstrips * c->nbands), band, to < c->height ? to : c->height, strip,
                         right < c->width ? right : c->width, planes,
                         planes + c->src_channels * c->src_plane};
}

#define FEW 4 /* numbers: a call costs more than to write them */

static void clear(uint16_t *planes, size_t stride, size_t nplanes, size_t from, size_t n)
{
    for (size_t i = 0; n <= FEW && i < n; i++)
        for (size_t k = 0; k < nplanes; k++)
            planes[k * stride + from + i] = 0;
    for (size_t k = 0; n > FEW && k < nplanes; k++)
        memset(planes + k * stride + from, 0, n * sizeof *planes);
}

/* Row y1 - 1 of the source with the columns beside the strip, as row y1 - from of its planes. */
static void fill_src(const struct weights *c, const struct roles *roles, const struct task *t,
                     size_t y1)
{
    size_t first = t->left > 0 ? t->left - 1 : 0, skip = t->left > 0 ? 0 : 1;
    size_t end = t->right < c->width ? t->right + 1 : c->width, at = (y1 - t->from) * c->pitch;
    uint16_t *planes = t->src;

    if (y1 == 0 || y1 > c->height) {
        clear(t->src, c->src_plane, c->src_channels, at, c->pitch);
        return;
    }
    for (size_t k = 0; k < PARTS && roles->src[k]; k++) {
        size_t n = tensor_channels(roles->src[k]);
        size_t line = (t->image * c->height + y1 - 1) * c->width + first;

        c->planes->split(roles->src[k]->half + line * n, n, n, end - first, planes + at + skip,
                         c->src_plane);
        planes += n * c->src_plane;
    }
    clear(t->src, c->src_plane, c->src_channels, at, skip);
    clear(t->src, c->src_plane, c->src_channels, at + skip + end - first,
          c->pitch - skip - (end - first));
}

static void fill_dy(const struct weights *c, const struct roles *roles, const struct task *t,
                    size_t y)
{
    size_t n = c->dst_channels, width = t->right - t->left, at = (y - t->from) * c->pitch;
    size_t line = (t->image * c->height + y) * c->width + t->left;

    c->planes->split(roles->dst[0]->half + line * n, n, n, width, t->dy + at, c->dst_plane);
    clear(t->dy, c->dst_plane, n, at + width, c->pitch - width);
}

static void fill(const struct weights *c, const struct roles *roles, const struct task *t)
{
    size_t used = (t->to - t->from) * c->pitch, rest = round_up(used, HALF_PLANES_PIXELS) - used;

    for (size_t y1 = t->from; y1 < t->to + BORDER; y1++)
        fill_src(c, roles, t, y1);
    for (size_t y = t->from; y < t->to; y++)
        fill_dy(c, roles, t, y);
    /* What steps read behind the last row: zeros times numbers. */
    clear(t->dy, c->dst_plane, c->dst_channels, used, rest);
    clear(t->src, c->src_plane, c->src_channels, used + BORDER * c->pitch, rest + BORDER);
}

/* Ask for part i of n of what a task reads: into the second cache, the first one is full. */
static void fetch(const struct weights *c, const struct roles *roles, const struct task *t, size_t i,
                  size_t n)
{
    const struct tensor *all[PARTS + 1] = {roles->src[0], roles->src[1], roles->dst[0]};
    size_t nrows = t->to - t->from, width = t->right - t->left;

    for (size_t k = 0; k <= PARTS; k++)
        for (size_t y = nrows * i / n; all[k] && y < nrows * (i + 1) / n; y++) {
            size_t line = (t->image * c->height + t->from + y) * c->width + t->left;
            size_t channels = tensor_channels(all[k]);

            for (size_t at = 0; at < width * channels; at += LINE)
                __builtin_prefetch(all[k]->half + line * channels + at, 0, 2);
        }
}

/* vectors[row of the window][two inputs][four outputs][HALF_PLANES_SUMS]; next: what comes then, or
 * NULL. */
static void add_products(const struct weights *c, const struct roles *roles, const struct task *t,
                         const struct task *next, float *vectors)
{
    size_t n = round_up((t->to - t->from) * c->pitch, HALF_PLANES_PIXELS);
    size_t nblocks = c->nvectors / HALF_PLANES_SUMS, block = 0;

    for (size_t r = 0; r < KERNEL; r++)
        for (size_t i = 0; i < c->src_channels; i += HALF_PLANES_INPUTS)
            for (size_t o = 0; o < c->dst_channels; o += HALF_PLANES_OUTPUTS, block++) {
                if (next)
                    fetch(c, roles, next, block, nblocks);
                c->planes->weights(t->dy + o * c->dst_plane, c->dst_plane,
                                   t->src + i * c->src_plane + r * c->pitch, c->src_plane, n,
                                   vectors + block * HALF_PLANES_SUMS * HALF_PLANES_LANES);
            }
}

/* Tasks [from, to) into sums: the lanes of each vector, then the bias. */
static void sum_chunk(const struct weights *c, const struct roles *roles, size_t from, size_t to,
                      float *vectors, float *sums)
{
    uint16_t *planes = (uint16_t *)(void *)(vectors + c->nvectors * HALF_PLANES_LANES);

    memset(vectors, 0, c->nvectors * HALF_PLANES_LANES * sizeof *vectors);
    memset(sums + c->nvectors, 0, c->dst_channels * sizeof *sums);
    for (size_t i = from; i < to; i++) {
        struct task t = task_of(c, i, planes), next = task_of(c, i + 1 < to ? i + 1 : i, planes);
        size_t n = round_up((t.to - t.from) * c->pitch, HALF_PLANES_PIXELS);

        fill(c, roles, &t);
        add_products(c, roles, &t, i + 1 < to ? &next : NULL, vectors);
        for (size_t o = 0; roles->bias && o < c->dst_channels; o += HALF_PLANES_BLOCK)
            c->planes->sum(t.dy + o * c->dst_plane, c->dst_plane, n, sums + c->nvectors + o);
    }
    c->planes->reduce(vectors, c->nvectors, sums);
}

/* dw[O][I][3][3] from the order of add_products(). */
static void finish(const struct weights *c, const float *sums, float *dw)
{
    size_t ns = c->src_channels;

    for (size_t r = 0; r < KERNEL; r++)
        for (size_t i = 0; i < ns; i += HALF_PLANES_INPUTS)
            for (size_t o = 0; o < c->dst_channels; o += HALF_PLANES_OUTPUTS)
                for (size_t k = 0; k < HALF_PLANES_SUMS; k++) {
                    size_t output = o + k / (HALF_PLANES_INPUTS * KERNEL);
                    size_t input = i + k / KERNEL % HALF_PLANES_INPUTS;

                    dw[((output * ns + input) * KERNEL + r) * KERNEL + k % KERNEL] = *sums++;
                }
}

/* Workspace: the sums of all chunks, room for each thread. */
static int run(struct op *op, struct exec *x, struct err *e)
{
    const struct weights *c = op->priv;
    const struct roles roles = roles_of(op);
    size_t ntasks = c->nimages * c->nbands * c->nstrips;
    float *sums = op->workspace, *rooms = sums + round_up(c->nchunks * c->sums, ROUND);

    (void)x;
    (void)e;
#pragma omp parallel num_threads(c->nthreads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nchunks; i++)
            sum_chunk(c, &roles, ntasks * i / c->nchunks, ntasks * (i + 1) / c->nchunks,
                      rooms + simd_thread() * c->room, sums + i * c->sums);
        conv_rows_add(sums, c->sums, c->nchunks);
    }
    finish(c, sums, roles.weights->data);
    if (roles.bias)
        memcpy(roles.bias->data, sums + c->nvectors, c->dst_channels * sizeof *sums);
    return 0;
}

static bool supports(const struct op *op)
{
    const struct roles r = roles_of(op);

    return half_conv_supports(op, &r);
}

static int prepare(struct op *op, struct err *e)
{
    const struct roles r = roles_of(op);
    struct weights *c = create(&r);

    if (!c)
        return err_set(e, ERR_INTERNAL, "out of memory");
    op->workspace_size = (round_up(c->nchunks * c->sums, ROUND) + c->nthreads * c->room) *
                         sizeof(float);
    op->priv = c;
    return 0;
}

static void release(struct op *op)
{
    free(op->priv);
}

const struct kernel simd_half_conv_grad_weights = {
    .kind = &conv2d_grad_weights_kind, .supports = supports, .prepare = prepare, .run = run,
    .release = release, .may = OP_BARE, .types = KERNEL_HALVES};
const struct kernel simd_half_conv_concat_grad_weights = {
    .kind = &concat_conv2d_grad_weights_kind, .supports = supports, .prepare = prepare, .run = run,
    .release = release, .types = KERNEL_HALVES};
