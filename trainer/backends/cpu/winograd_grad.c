/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a 3x3 convolution in one pass (winograd.h). The gradient of the result is
 * transformed once for both; so for the weights' gradient the source is transformed as gradients
 * are.
 *
 * The gradient of the input may take the memory of the result's gradient. Then rows are copied
 * before they are overwritten: neighbouring rows of tiles share copies, and each chunk begins with
 * copies of the rows next to it. */
#include "config.h"
#include "trainer/backends/cpu/winograd.h"

#include <string.h>

/* Returns where row i of these rows of pixels, which has n values, is copied to. */
static inline float *winograd_copy(const struct winograd *g, float *copies, size_t r, size_t i,
                                   size_t n)
{
    return copies + (g->rows->tile * r + i) % g->rows->side * n;
}

/* op->priv: the gradients of the input and of the weights. */
struct winograd_grad {
    struct winograd in, w;
    /* Floats: copied rows of the gradient; rows of the gradient above and below a chunk. */
    size_t rows, edges;
};

static struct winograd_grad winograd_grad_of(const struct op *op)
{
    struct conv_operands in = conv_operands_of(op), w = conv_operands_weights_grad(op);
    struct winograd_grad b = {.in = winograd_of(&in), .w = winograd_of(&w)};

    b.w.nchunks = winograd_weights_chunks(&b.w);
    b.rows = simd_round_up(b.in.rows->side * b.in.width * b.in.src_channels, WINOGRAD_LINE);
    b.edges = simd_round_up(2 * b.in.width * b.in.src_channels, WINOGRAD_LINE);
    return b;
}

static bool winograd_grad_supports(const struct op *op)
{
    if (!winograd_supports(op))
        return false;
    struct winograd_grad b = winograd_grad_of(op);
    return b.w.nchunks > 0 && b.in.band == b.w.band;
}

/* The pointers into the workspace during one run. */
struct winograd_grad_workspace {
    const struct winograd_grad *b;
    struct conv_operands in, w;
    bool in_place; /* dx has the memory of dy */
    float *packed, *no_bias, *zeros, *sums, *edges, *rooms;
};

static struct winograd_grad_workspace winograd_grad_workspace_of(const struct op *op,
                                                                 const struct winograd_grad *b,
                                                                 struct simd_workspace *w)
{
    return (struct winograd_grad_workspace){
        .b = b,
        .in = conv_operands_of(op),
        .w = conv_operands_weights_grad(op),
        .packed = simd_take(w, b->in.weights, sizeof(float)),
        .no_bias = simd_take(w, b->in.bias, sizeof(float)),
        .zeros = simd_take(w, b->in.zeros, sizeof(float)),
        .sums = simd_take(w, b->w.nchunks * (b->w.weights + b->w.bias), sizeof(float)),
        .edges = simd_take(w, b->w.nchunks * b->edges, sizeof(float)),
        .rooms = simd_take(w, b->w.nthreads * (b->in.scratch + b->rows), sizeof(float)),
    };
}

static int winograd_grad_prepare(struct op *op, struct err *e)
{
    struct winograd_grad b = winograd_grad_of(op);
    struct simd_workspace w = {0};

    winograd_grad_workspace_of(op, &b, &w);
    op->workspace_size = w.size;
    op->inplace = true;
    return simd_keep(op, &b, sizeof b, e);
}

/* One thread's scratch. */
struct room {
    float *gradient, *results; /* transformed gradient; results of the input, then the transformed
                                * source */
    float *rows;
};

static struct room room_of(const struct winograd_grad_workspace *p, size_t thread)
{
    const struct winograd_grad *b = p->b;
    float *from = p->rooms + thread * (b->in.scratch + b->rows);

    return (struct room){from, from + b->in.places * b->in.src_place, from + b->in.scratch};
}

/* Rows of tiles [begin, end), and copies of the rows of pixels above and below them, if these are
 * in the same image. */
struct chunk {
    size_t begin, end;
    float *above, *below;
};

static struct chunk chunk_of(const struct winograd_grad_workspace *p, size_t i)
{
    const struct winograd *g = &p->b->w;
    size_t nrows = g->nimages * g->down;
    float *edges = p->edges + i * p->b->edges;

    return (struct chunk){nrows * i / g->nchunks, nrows * (i + 1) / g->nchunks, edges,
                          edges + p->b->edges / 2};
}

/* Copies the rows that a chunk reads from its neighbours, before any thread writes. */
static void copy_edges(const struct winograd_grad_workspace *p, size_t i)
{
    const struct winograd *g = &p->b->in;
    size_t line = g->width * g->src_channels, tile = g->rows->tile;
    struct chunk c = chunk_of(p, i);

    if (c.begin % g->down)
        memcpy(c.above, p->in.src->data + (c.begin * tile - 1) * line, line * sizeof(float));
    if (c.end % g->down)
        memcpy(c.below, p->in.src->data + c.end * tile * line, line * sizeof(float));
}

/* Returns row i, from 0 to side - 1, of the rows of the gradient that row of tiles r of a chunk
 * reads; row 0 is the one above the tiles. x > 0: this is not the first section of the band, and a
 * row that needs a copy has been copied already. */
static const float *gradient_row(const struct winograd_grad_workspace *p, const struct room *room,
                                 const struct chunk *c, size_t x, size_t r, size_t i)
{
    const struct winograd *g = &p->b->in;
    size_t line = g->width * g->src_channels;
    size_t y = g->rows->tile * (r % g->down) + i - 1; /* -1 wraps to a large number, too */
    const float *row = p->in.src->data + (r / g->down * g->height + y) * line;
    float *copy = winograd_copy(g, room->rows, r, i, line);

    if (y >= g->height)
        return p->zeros;
    if (!p->in_place)
        return row;
    if (r == c->begin && i == 0)
        return c->above;
    if (r + 1 == c->end && i + 1 == g->rows->side)
        return c->below;
    if (x == 0 && !(r > c->begin && i < winograd_first_new(g, r)))
        memcpy(copy, row, line * sizeof *copy);
    return copy;
}

/* Transforms row of tiles r of a band of the gradient, and adds the rows to the bias's sum. */
static void winograd_grad_read_gradient(const struct winograd_grad_workspace *p,
                                        const struct room *room, const struct chunk *c,
                                        const struct winograd_band *b, size_t r, float *sum)
{
    const struct winograd *g = &p->b->in;
    size_t n = g->src_channels, at = (r - b->from) * (b->width / g->rows->tile) * n;
    const float *rows[WINOGRAD_SIDE];

    for (size_t i = 0; i < g->rows->side; i++)
        rows[i] = gradient_row(p, room, c, b->x, r, i) + b->x * n;
    g->rows->source(rows, b->width, n, winograd_band_beside(g, b), g->src_place,
                    room->gradient + at);
    for (size_t i = 1; p->w.bias && i <= g->rows->tile; i++)
        for (size_t k = 0; k < n; k += g->rows->lanes)
            g->products->sum(rows[i] + k, b->width, n, sum + k);
}

static void winograd_grad_write_input(const struct winograd_grad_workspace *p,
                                      const struct room *room, const struct winograd_band *b)
{
    const struct winograd *g = &p->b->in;

    for (size_t i = 0; i < g->places; i++) {
        winograd_fetch_source(g, p->in.src, b, i);
        winograd_conv_fetch(g, p->in.dst, b, i);
        winograd_conv_multiply(g, i, p->packed, p->zeros, winograd_band_tiles(g, b), room->gradient,
                               room->results);
    }
    winograd_conv_write(g, p->in.dst, room->results, p->no_bias, b);
}

static void winograd_grad_add_weights(const struct winograd_grad_workspace *p,
                                      const struct room *room, const struct winograd_band *b,
                                      float *sums)
{
    const struct winograd *g = &p->b->w;
    size_t line = g->rows->tile * g->width * g->src_channels;

    winograd_spread(g, p->w.src, b, g->src_place, room->results);
    for (size_t i = 0; i < g->places; i++) {
        winograd_fetch(g, p->w.src, b->to * line, (b->next - b->to) * line, b, i);
        winograd_weights_add(g, i, winograd_band_tiles(g, b), room->results, room->gradient, sums);
    }
}

static void winograd_grad_run_chunk(const struct winograd_grad_workspace *p,
                                    const struct room *room, size_t i)
{
    const struct winograd *g = &p->b->w;
    size_t size = g->weights + g->bias;
    struct chunk c = chunk_of(p, i);
    float *sums = p->sums + i * size;

    memset(sums, 0, size * sizeof *sums);
    for (size_t from = c.begin; from < c.end; from += g->band) {
        struct winograd_band b = winograd_band_of(g, from, c.end);

        for (; b.x < g->width; winograd_band_on(g, &b)) {
            for (size_t r = b.from; r < b.to; r++)
                winograd_grad_read_gradient(p, room, &c, &b, r, sums + g->weights);
            winograd_grad_write_input(p, room, &b);
            winograd_grad_add_weights(p, room, &b, sums);
        }
    }
}

static int winograd_grad_run(struct op *op, struct exec *x, struct err *e)
{
    const struct winograd_grad *b = op->priv;
    struct winograd_grad_workspace p =
        winograd_grad_workspace_of(op, b, &(struct simd_workspace){op->workspace, 0});
    size_t size = b->w.weights + b->w.bias;

    p.in_place = op->out[0]->data == op->in[0]->data;
    memset(p.no_bias, 0, b->in.bias * sizeof *p.no_bias);
    memset(p.zeros, 0, b->in.zeros * sizeof *p.zeros);
#pragma omp parallel num_threads(b->w.nthreads)
    {
        struct room room = room_of(&p, simd_thread());

        winograd_conv_pack(&b->in, p.in.weights->data, true, p.packed);
#pragma omp for schedule(static)
        for (size_t i = 0; i < (p.in_place ? b->w.nchunks : 0); i++)
            copy_edges(&p, i);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < b->w.nchunks; i++)
            winograd_grad_run_chunk(&p, &room, i);
        conv_rows_add(p.sums, size, b->w.nchunks);
        winograd_weights_gather(&b->w, p.sums, true, p.w.weights->data);
    }
    if (p.w.bias)
        memcpy(p.w.bias->data, p.sums + b->w.weights, b->w.dst_channels * sizeof *p.sums);
    return 0;
}

const struct kernel simd_winograd_grad = {
    .kind = &conv2d_grad_kind, .supports = winograd_grad_supports,
    .prepare = winograd_grad_prepare, .run = winograd_grad_run, .release = simd_release};
