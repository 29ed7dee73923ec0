/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposed 2x2 convolutions of stride 2 of bf16 by AMX tiles (isa/amx_tiles.h). x is the tensor
 * of half the size, y the other.
 *
 * The two pixels that a pixel of x becomes in one row of y are neighbours in memory: 2 C values,
 * "wide", if y has C channels. So each of the two rows of y is a product of the matrix
 * x[pixel][channel] and weights; the gradient of x is the sum of two such products with the two
 * rows of dy; the gradient of the weights sums over pixels, with planes of x and pairs of pixels of
 * dy (amx_conv_weights.c). The rows of a task follow each other without gaps, and so do the even
 * and the odd rows of y, so that narrow images fill tiles. */
#include "config.h"
#include "trainer/backends/cpu/conv/amx/amx_kernels.h"
#include "trainer/backends/cpu/isa/simd.h"

#include <string.h>

#include "trainer/backends/cpu/conv/amx/amx_check.h"
#include "trainer/backends/cpu/conv/amx/amx_rows.h"
#include "trainer/backends/cpu/conv/conv_rows.h"
#include "trainer/backends/cpu/conv/conv_transpose2d.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"
#include "trainer/backends/cpu/isa/bf16.h"
#include "trainer/backends/ref/vector.h"

#define SIDE 2                /* the window's side and the stride */
#define SLICE 256             /* pixels of x in a task, about */
#define MAX_CHUNKS 32
#define CHUNK_PIXELS 4096
#define MAX_SUMS (1 << 24)    /* floats of all chunks: 64 MiB */
#define MAX_WEIGHTS (1 << 20) /* channels of x times channels of y */
#define LINE AMX_ROWS_LINE
#define TILE AMX_TILES_ROWS
#define DEPTH AMX_TILES_DEPTH
#define LANES 16

/* op->priv */
struct amx_transpose {
    const struct amx_tiles *tiles;
    struct amx_shape shape;
    float_rows_encode_f *encode;
    size_t nimages, height, width;       /* of x */
    size_t nx, wide;                     /* channels of x; values of two pixels of y */
    size_t slice, nslices, npixels; /* rows of a task; tasks of an image; pixels of a task, rounded
                                     * up to whole tiles */
    size_t x, y, plane, room;            /* of one thread, in bf16 values: its pixels of x; of y; a
                                          * plane; all together */
    size_t results, packed;              /* floats of one thread's results; bf16 values of the
                                          * packed weights */
    size_t bias, nsums;                  /* floats of the bias; of one chunk's sums */
    size_t nchunks, nthreads;
};

/* Rows [from, from + n) of an image of x. */
struct task {
    size_t image, from, n;
};

/* Returns how many of n products a tile sums at once. */
static size_t depth_of(size_t n)
{
    return n % 32 == 0 ? 32 : n % 24 == 0 ? 24 : n % 16 == 0 ? 16 : 8;
}

/* The sums of the gradient of the weights run over pixels, others over channels. */
static struct amx_transpose amx_transpose_of(const struct op *op)
{
    const struct tensor *x = conv_transpose2d_x(op);
    bool over_pixels = op->out[1];
    struct amx_transpose plan = {0}, *c = &plan;

    c->tiles = amx_tiles_best();
    c->encode = float_rows_encode();
    c->nimages = (size_t)x->shape.dim[DIM_N];
    c->height = (size_t)x->shape.dim[DIM_H];
    c->width = (size_t)x->shape.dim[DIM_W];
    c->nx = tensor_channels(x);
    c->wide = SIDE * tensor_channels(conv_transpose2d_y(op));
    c->shape = (struct amx_shape){TILE, AMX_TILES_COLUMNS, DEPTH, false};
    if (!over_pixels)
        c->shape.depth = depth_of(op->kind == &conv_transpose2d_kind ? c->nx : c->wide);
    c->slice = simd_min(c->width < SLICE ? SLICE / c->width : 1, c->height);
    c->nslices = (c->height + c->slice - 1) / c->slice;
    c->npixels = simd_round_up(c->slice * c->width, DEPTH);
    c->plane = ((c->npixels / LINE + 1) | 1) * LINE;
    c->x = c->npixels * c->nx;
    c->y = SIDE * c->npixels * c->wide;
    c->room = over_pixels ? c->nx * c->plane + c->y + 2 * c->npixels * c->wide : c->x + c->y;
    c->results = c->npixels * (c->nx > c->wide ? c->nx : c->wide);
    c->packed = SIDE * c->nx * c->wide;
    c->bias = simd_round_up(c->wide, LINE);
    c->nsums = SIDE * c->nx * c->wide + c->wide;
    c->nchunks = simd_min(c->nimages * c->height * c->width / CHUNK_PIXELS + 1,
                          c->nimages * c->nslices);
    c->nchunks = simd_min(simd_min(c->nchunks, MAX_CHUNKS), MAX_SUMS / c->nsums);
    c->nthreads = simd_threads();
    return plan;
}

static struct task task_of(const struct amx_transpose *c, size_t i)
{
    size_t from = i % c->nslices * c->slice;

    return (struct task){i / c->nslices, from, simd_min(c->slice, c->height - from)};
}

/* Reads the rows of y that belong to a task: first the upper row of each pair, then, npixels pairs
 * of pixels behind the first, the lower ones. */
static void read_y(const struct amx_transpose *c, const struct tensor *y, const struct task *t,
                   uint16_t *dst)
{
    const struct tensor *tensors[CONV_CONCAT] = {y};

    for (size_t i = 0; i < SIDE; i++)
        for (size_t k = 0; k < t->n; k++)
            amx_rows_read(tensors, NULL, t->image, SIDE * (t->from + k) + i, 1, 0, SIDE * c->width,
                          dst + (i * c->npixels + k * c->width) * c->wide);
}

/* Returns where row k, column n of a packed matrix with `rows` rows lies. */
static size_t amx_transpose_place_of(const struct amx_transpose *c, size_t rows, size_t k, size_t n)
{
    size_t depth = c->shape.depth, column = n % AMX_TILES_COLUMNS;

    return n / AMX_TILES_COLUMNS * rows * AMX_TILES_COLUMNS +
           k / depth * depth * AMX_TILES_COLUMNS +
           (k % depth / 2 * AMX_TILES_COLUMNS + column) * 2 + k % 2;
}

/* Packs w[channel of x][channel of y][2][2]; back: for the gradient of x, whose matrix has the rows
 * of both lines of y. */
static void amx_transpose_pack(const struct amx_transpose *c, const float *w, bool back,
                               uint16_t *packed)
{
    size_t ny = c->wide / SIDE;

#pragma omp parallel for schedule(static) num_threads(c->nthreads)
    for (size_t s = 0; s < c->nx; s++)
        for (size_t i = 0; i < SIDE; i++)
            for (size_t k = 0; k < c->wide; k++) {
                float v = w[((s * ny + k % ny) * SIDE + i) * SIDE + k / ny];
                size_t at = back ? amx_transpose_place_of(c, SIDE * c->wide, i * c->wide + k, s)
                                 : i * c->nx * c->wide + amx_transpose_place_of(c, c->nx, s, k);

                packed[at] = bf16_from_float(v);
            }
}

static void up_task(const struct amx_transpose *c, const struct op *op, const struct task *t,
                    const uint16_t *packed, const float *bias, uint16_t *room, float *results)
{
    const struct tensor *y = op->out[0], *tensors[CONV_CONCAT] = {op->in[0]};
    struct amx_product p = {
        .a = {room, c->nx, TILE * c->nx, c->shape.depth, 0},
        .b = {packed, 2 * AMX_TILES_COLUMNS, c->nx * AMX_TILES_COLUMNS,
              c->shape.depth * AMX_TILES_COLUMNS, 0},
        .nwindows = 1,
        .nsteps = c->nx / c->shape.depth,
        .from = bias,
        .from_n = AMX_TILES_COLUMNS,
        .to = results,
        .to_row = c->wide,
        .to_m = TILE * c->wide,
        .to_n = AMX_TILES_COLUMNS,
    };

    amx_rows_read(tensors, NULL, t->image, t->from, t->n, 0, c->width, room);
    for (size_t i = 0; i < SIDE; i++, p.b.at += c->nx * c->wide) {
        size_t line = (t->image * c->height + t->from) * SIDE + i, nline = c->width * c->wide;

        amx_tiles_multiply(c->tiles, &p, (t->n * c->width + TILE - 1) / TILE,
                           c->wide / AMX_TILES_COLUMNS);
        for (size_t k = 0; k < t->n; k++)
            c->encode(DTYPE_BF16, results + k * nline, y->half + (line + SIDE * k) * nline, nline);
    }
}

static void back_task(const struct amx_transpose *c, const struct op *op, const struct task *t,
                      const uint16_t *packed, const float *bias, uint16_t *room, float *results)
{
    size_t line = t->image * c->height + t->from;
    const struct amx_product p = {
        .a = {room, c->wide, TILE * c->wide, c->shape.depth, c->npixels * c->wide},
        .b = {packed, 2 * AMX_TILES_COLUMNS, SIDE * c->wide * AMX_TILES_COLUMNS,
              c->shape.depth * AMX_TILES_COLUMNS, c->wide * AMX_TILES_COLUMNS},
        .nwindows = SIDE,
        .nsteps = c->wide / c->shape.depth,
        .from = bias,
        .to = results,
        .to_row = c->nx,
        .to_m = TILE * c->nx,
        .to_n = AMX_TILES_COLUMNS,
    };

    read_y(c, op->in[0], t, room);
    amx_tiles_multiply(c->tiles, &p, (t->n * c->width + TILE - 1) / TILE,
                       c->nx / AMX_TILES_COLUMNS);
    c->encode(DTYPE_BF16, results, op->out[0]->half + line * c->width * c->nx,
              t->n * c->width * c->nx);
}

/* Workspace: bias, results of each thread, packed weights, pixels of each thread. */
static int amx_transpose_run(struct op *op, struct exec *x, struct err *e)
{
    const struct amx_transpose *c = op->priv;
    bool back = op->kind == &conv_transpose2d_grad_kind;
    float *bias = op->workspace, *results = bias + c->bias;
    uint16_t *packed = (uint16_t *)(void *)(results + c->nthreads * c->results);
    uint16_t *rooms = packed + c->packed;

    (void)x;
    (void)e;
    amx_transpose_pack(c, op->in[1]->data, back, packed);
    for (size_t i = 0; i < c->bias; i++)
        bias[i] = back ? 0 : op->in[2]->data[i % (c->wide / SIDE)];
#pragma omp parallel num_threads(c->nthreads)
    {
        c->tiles->begin(&c->shape);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nimages * c->nslices; i++) {
            struct task t = task_of(c, i);

            (back ? back_task : up_task)(c, op, &t, packed, bias, rooms + simd_thread() * c->room,
                                         results + simd_thread() * c->results);
        }
        c->tiles->end();
    }
    return 0;
}

typedef uint16_t halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef float floats __attribute__((vector_size(4 * LANES)));

/* dst[i] += the sum over all rows of src[row][i]; nrows is even. */
VECTOR_CLONES static void add_rows(const uint16_t *src, size_t nrows, size_t n, float *dst)
{
    for (size_t i = 0; i < n; i += LANES) {
        floats even = {0}, odd = {0};

        for (const uint16_t *p = src + i; p < src + nrows * n; p += 2 * n) {
            even += (floats)(__builtin_convertvector(*(const halves *)p, words) << 16);
            odd += (floats)(__builtin_convertvector(*(const halves *)(p + n), words) << 16);
        }
        even += odd;
        for (size_t k = 0; k < LANES; k++)
            dst[i + k] += even[k];
    }
}

/* Adds the products of x and dy to sums[row of the window][channel of x][wide], and dy to the sums
 * of dy behind them. Behind the last pixel the planes hold zeros, and the pairs zeros or other
 * values of dy. */
static void add_task(const struct amx_transpose *c, const struct op *op, const struct task *t,
                     uint16_t *room, float *sums)
{
    const struct tensor *x = op->in[2];
    uint16_t *y = room + c->nx * c->plane, *pairs = y + c->y;
    size_t used = t->n * c->width, n = simd_round_up(used, DEPTH);

    read_y(c, op->in[0], t, y);
    for (size_t k = 0; k < t->n; k++)
        amx_rows_split(x->half + ((t->image * c->height + t->from + k) * c->width) * c->nx, c->nx,
                       c->width, room + k * c->width, c->plane);
    for (size_t k = 0; k < c->nx; k++)
        memset(room + k * c->plane + used, 0, (n - used) * sizeof *room);
    for (size_t i = 0; i < SIDE; i++) {
        uint16_t *line = y + i * c->npixels * c->wide;
        float *to = sums + i * c->nx * c->wide;
        const struct amx_product p = {
            .a = {room, c->plane, TILE * c->plane, DEPTH, 0},
            .b = {pairs, 2 * c->wide * 2, 2 * AMX_TILES_COLUMNS, DEPTH * c->wide * 2, 0},
            .nwindows = 1,
            .nsteps = n / DEPTH,
            .from = to,
            .from_row = c->wide,
            .from_m = TILE * c->wide,
            .from_n = AMX_TILES_COLUMNS,
            .to = to,
            .to_row = c->wide,
            .to_m = TILE * c->wide,
            .to_n = AMX_TILES_COLUMNS,
        };

        memset(line + used * c->wide, 0, (n - used) * c->wide * sizeof *line);
        amx_rows_pair(line, c->wide, (n - 1) * c->wide, (uint32_t *)(void *)pairs);
        amx_tiles_multiply(c->tiles, &p, c->nx / TILE, c->wide / AMX_TILES_COLUMNS);
        add_rows(line, n, c->wide, sums + c->nsums - c->wide);
    }
}

/* Writes dw[channel of x][channel of y][2][2] and db from sums in the order of add_task(). */
static void amx_transpose_finish(const struct amx_transpose *c, const float *sums, float *dw,
                                 float *db)
{
    size_t ny = c->wide / SIDE;
    const float *bias = sums + c->nsums - c->wide;

    for (size_t s = 0; s < c->nx; s++)
        for (size_t i = 0; i < SIDE; i++)
            for (size_t k = 0; k < c->wide; k++)
                dw[((s * ny + k % ny) * SIDE + i) * SIDE + k / ny] =
                    sums[(i * c->nx + s) * c->wide + k];
    for (size_t k = 0; k < ny; k++)
        db[k] = bias[k] + bias[ny + k];
}

/* Workspace: the sums of all chunks, room for each thread. */
static int amx_transpose_run_grad_weights(struct op *op, struct exec *e, struct err *err)
{
    const struct amx_transpose *c = op->priv;
    size_t ntasks = c->nimages * c->nslices;
    float *sums = op->workspace;
    uint16_t *rooms = (uint16_t *)(void *)(sums + simd_round_up(c->nchunks * c->nsums, LINE));

    (void)e;
    (void)err;
#pragma omp parallel num_threads(c->nthreads)
    {
        c->tiles->begin(&c->shape);
#pragma omp for schedule(dynamic)
        for (size_t k = 0; k < c->nchunks; k++) {
            memset(sums + k * c->nsums, 0, c->nsums * sizeof *sums);
            for (size_t i = ntasks * k / c->nchunks; i < ntasks * (k + 1) / c->nchunks; i++) {
                struct task t = task_of(c, i);

                add_task(c, op, &t, rooms + simd_thread() * c->room, sums + k * c->nsums);
            }
        }
        c->tiles->end();
        conv_rows_add(sums, c->nsums, c->nchunks);
    }
    amx_transpose_finish(c, sums, op->out[1]->data, op->out[2]->data);
    return 0;
}

static int amx_transpose_prepare(struct op *op, struct err *e)
{
    const struct amx_transpose c = amx_transpose_of(op);

    op->workspace_size = c.nthreads * c.room * sizeof(uint16_t);
    if (op->out[1])
        op->workspace_size += simd_round_up(c.nchunks * c.nsums, LINE) * sizeof(float);
    else
        op->workspace_size += (c.bias + c.nthreads * c.results) * sizeof(float) +
                              c.packed * sizeof(uint16_t);
    return simd_keep(op, &c, sizeof c, e);
}

static bool amx_transpose_supports(const struct op *op)
{
    const struct tensor *x[CONV_CONCAT] = {conv_transpose2d_x(op)};
    const struct tensor *y[CONV_CONCAT] = {conv_transpose2d_y(op)};

    return amx_tiles_best() && amx_rows_supports(x) && amx_rows_supports(y) &&
           tensor_channels(*x) % TILE == 0 &&
           tensor_channels(*x) * tensor_channels(*y) <= MAX_WEIGHTS &&
           amx_check(op->out[1] ? &simd_amx_transpose_grad_weights : &simd_amx_transpose, op);
}

#define KERNEL_OF(_kind, _run) \
    .kind = &_kind, .supports = amx_transpose_supports, .prepare = amx_transpose_prepare, \
    .run = _run, .release = simd_release, .types = KERNEL_HALVES

const struct kernel simd_amx_transpose = {KERNEL_OF(conv_transpose2d_kind, amx_transpose_run)};
const struct kernel simd_amx_transpose_grad_input = {
    KERNEL_OF(conv_transpose2d_grad_kind, amx_transpose_run), .must = OP_INPUT_ONLY};
const struct kernel simd_amx_transpose_grad_weights = {
    KERNEL_OF(conv_transpose2d_grad_kind, amx_transpose_run_grad_weights),
    .must = OP_WEIGHTS_ONLY};
