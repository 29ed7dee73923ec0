/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a 3x3 convolution in one pass over what they read (winograd.h): the gradient of its result
 * goes from one row of tiles into both transforms. Where a norm's gradient comes late (core/op.h) it is made
 * of those rows; where a norm and its ReLU are in front of the convolution, what that norm's gradient needs is
 * summed while the gradient of the input and the source are in the cache. */
#include "config.h"
#include "trainer/backends/simd/winograd.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/simd/late_rows.h"
#include "trainer/backends/simd/simd.h"

/* op->priv: the ops that it stands for, of which the first two have no workspace. */
struct both {
    struct op input, weights;
    struct op norm; /* no kind: none */
    struct winograd in, w;
    /* Floats: coefficients, the source and results of the one, the gradient of the other; rows of the
     * gradient, of the source. */
    size_t coef, scratch, late, lines;
    size_t norm_size; /* doubles of a chunk's sums */
};

static bool has_norm(const struct op *op)
{
    return op->kind == &batch_norm_relu_conv2d_grad_kind ||
           op->kind == &batch_norm_relu_conv2d_nobias_grad_kind;
}

/* (dy, x, gamma, saved, beta, w) -> dx, dgamma, dbeta, dw, and db. dx holds the gradient of what the norm
 * gave until that of the norm takes its place, if it is not left to who reads it. */
static void split_norm(const struct op *op, struct both *b)
{
    struct tensor *const *in = op->in, *const *out = op->out, *coef = op_late_out(op);
    bool bias = op->kind == &batch_norm_relu_conv2d_grad_kind;

    b->input = (struct op){.kind = &conv2d_grad_input_kind, .attr = op->attr, .in = {in[0], in[5]},
                           .out = {out[0]}};
    b->weights = (struct op){
        .kind = bias ? &conv2d_grad_weights_kind : &conv2d_nobias_grad_weights_kind, .attr = op->attr,
        .in = {in[0], in[1]}, .out = {out[3], bias ? out[4] : NULL}};
    b->norm = (struct op){.kind = coef ? &batch_norm_relu_grad_coef_kind : &batch_norm_relu_grad_kind,
                          .attr = op->attr, .in = {out[0], in[1], in[2], in[3], in[4]},
                          .out = {coef ? coef : out[0], out[1], out[2]}};
}

/* (dy, x, w) -> dx, dw, db; (dy, a, b, w) -> da, db, dw, dbias */
static void split(const struct op *op, struct both *b)
{
    bool whole = op->kind == &conv2d_grad_kind;
    struct tensor *const *in = op->in, *const *out = op->out;
    int nparts = whole ? 1 : 2;

    if (has_norm(op)) {
        split_norm(op, b);
        return;
    }
    b->input = (struct op){
        .kind = whole ? &conv2d_grad_input_kind : &concat_conv2d_grad_input_kind, .attr = op->attr,
        .in = {in[0], in[1 + nparts]}, .out = {out[0], whole ? NULL : out[1]}};
    b->weights = (struct op){
        .kind = whole ? &conv2d_grad_weights_kind : &concat_conv2d_grad_weights_kind, .attr = op->attr,
        .in = {in[0], in[1], whole ? NULL : in[2]}, .out = {out[nparts], out[nparts + 1]}};
}

static bool has_floats(const struct op *op)
{
    for (int i = 0; i < op_nin(op); i++)
        if (op->in[i]->dtype != DTYPE_F32)
            return false;
    for (int i = 0; i < op_nout(op); i++)
        if (op->out[i]->dtype != DTYPE_F32)
            return false;
    return true;
}

static size_t round_up(size_t n)
{
    return (n + WINOGRAD_LINE - 1) / WINOGRAD_LINE * WINOGRAD_LINE;
}

static void plan(const struct op *op, struct both *b)
{
    struct roles in = roles_of(&b->input), w = roles_of(&b->weights);

    b->in = winograd_of(&in, false);
    b->w = winograd_of(&w, has_norm(op));
    b->w.nchunks = winograd_weights_chunks(&b->w);
    b->coef = late_rows_size(op);
    b->scratch = b->in.scratch + b->w.places * b->w.dst_place;
    b->late = op_late_in(op) ? round_up(b->in.rows->side * b->in.width * b->in.src_channels) : 0;
    b->lines = round_up(b->w.lines);
    b->norm_size = has_norm(op) ? 2 * b->w.src_channels : 0;
}

static bool supports(const struct op *op)
{
    struct both b = {0};

    split(op, &b);
    if (!has_floats(op) || !late_rows_support(op) || !winograd_supports(&b.input) ||
        !winograd_supports(&b.weights) || (b.norm.kind && !simd_batch_norm_relu_grad.supports(&b.norm)))
        return false;
    plan(op, &b);
    return b.w.nchunks > 0 && b.in.band == b.w.band;
}

static void release(struct op *op)
{
    struct both *b = op->priv;

    if (b->norm.priv)
        simd_batch_norm_relu_grad.release(&b->norm);
    free(b);
}

/* Bytes of the norm's workspace, which comes first; then doubles, then floats. */
static size_t norm_bytes(const struct both *b)
{
    return round_up(b->norm.workspace_size / sizeof(float) + 1) * sizeof(float);
}

static size_t doubles_of(const struct both *b)
{
    return round_up(b->w.nchunks * b->norm_size);
}

static int prepare(struct op *op, struct err *e)
{
    struct both *b = calloc(1, sizeof *b);

    if (!b)
        return err_set(e, ERR_INTERNAL, "out of memory");
    split(op, b);
    if (b->norm.kind && simd_batch_norm_relu_grad.prepare(&b->norm, e) < 0) {
        free(b);
        return -1;
    }
    plan(op, b);
    op->workspace_size =
        norm_bytes(b) + doubles_of(b) * sizeof(double) +
        (b->coef + b->in.weights + b->in.bias + b->in.zeros + b->w.zeros +
         b->w.nchunks * (b->w.weights + b->w.bias) + b->w.nthreads * (b->scratch + b->late + b->lines)) *
            sizeof(float);
    op->priv = b;
    return 0;
}

/* Of one run; the workspace in its order. */
struct pass {
    const struct both *b;
    struct roles in, w;
    struct batch_norm_map map;
    struct late_rows dy;
    double *norm_sums;
    float *packed, *no_bias, *zeros, *source_zeros, *sums, *rooms;
};

static struct pass pass_of(struct op *op)
{
    struct both *b = op->priv;
    struct pass p = {.b = b, .in = roles_of(&b->input), .w = roles_of(&b->weights)};
    float *coef;

    b->norm.workspace = op->workspace;
    p.norm_sums = (double *)(void *)((char *)op->workspace + norm_bytes(b));
    coef = (float *)(p.norm_sums + doubles_of(b));
    p.packed = coef + b->coef;
    p.no_bias = p.packed + b->in.weights;
    p.zeros = p.no_bias + b->in.bias;
    p.source_zeros = p.zeros + b->in.zeros;
    p.sums = p.source_zeros + b->w.zeros;
    p.rooms = p.sums + b->w.nchunks * (b->w.weights + b->w.bias);
    p.dy = late_rows_of(op, coef);
    memset(p.no_bias, 0, (b->in.bias + b->in.zeros + b->w.zeros) * sizeof *p.zeros);
    return p;
}

/* One thread's. */
struct room {
    float *source, *results; /* of the gradient of the input; then results is the source of the weights' */
    float *gradient;         /* of the weights */
    float *late, *lines;
};

static struct room room_of(const struct pass *p, size_t thread)
{
    const struct both *b = p->b;
    float *from = p->rooms + thread * (b->scratch + b->late + b->lines);
    float *late = from + b->scratch;

    return (struct room){from, from + b->in.places * b->in.src_place, from + b->in.scratch, late,
                         late + b->late};
}

/* A row of tiles of the gradient into both transforms, and its sum. Copies of rows before row `first` of
 * those under it are there. */
static void read_gradient(const struct pass *p, const struct room *room, size_t r, size_t first,
                          size_t at, float *sum)
{
    const struct winograd *g = &p->b->in;
    size_t n = g->src_channels, line = g->width * n, tile = g->rows->tile;
    const float *rows[WINOGRAD_SIDE];

    for (size_t i = 0; i < g->rows->side; i++) {
        size_t y = tile * (r % g->down) + i - 1; /* wraps: too large as well */

        float *copy = winograd_copy(g, room->late, r, i, line);

        rows[i] = y >= g->height        ? p->zeros
                  : i < first && p->dy.x ? copy
                                         : late_rows_read(&p->dy, (r / g->down * g->height + y) * line,
                                                          line, copy);
    }
    g->rows->source(rows, g->width, n, n, g->src_place, room->source + at * n);
    g->rows->spread(rows + 1, g->width, n, p->b->w.dst_place, room->gradient + at * n);
    for (size_t i = 1; p->w.bias && i <= tile; i++)
        for (size_t c = 0; c < n; c += g->rows->lanes)
            g->products->sum(rows[i] + c, g->width, n, sum + c);
}

static void write_input(const struct pass *p, const struct room *room, const struct winograd_band *b)
{
    const struct winograd *g = &p->b->in;
    float *m = room->results;

    for (size_t i = 0; i < g->places; i++) {
        winograd_fetch_source(g, p->dy.g, b, i);
        if (p->dy.x)
            winograd_fetch_source(g, p->dy.x, b, i);
        for (int k = 0; k < PARTS && p->in.dst[k]; k++)
            winograd_conv_fetch(g, p->in.dst[k], b, i);
        winograd_conv_multiply(g, i, p->packed, p->zeros, (b->to - b->from) * g->across, room->source, m);
    }
    for (size_t r = b->from; r < b->to; r++, m += g->across * g->dst_channels)
        winograd_conv_write(g, &p->in, m, p->no_bias, r, NULL);
}

static void add_weights(const struct pass *p, const struct room *room, const struct winograd_band *b,
                        bool goes_on, float *sums)
{
    const struct winograd *g = &p->b->w;

    winograd_transform_source(g, &p->w, p->source_zeros, b->from, b->to, goes_on, room->lines,
                              room->results);
    for (size_t i = 0; i < g->places; i++) {
        for (int k = 0; k < PARTS && p->w.src[k]; k++)
            winograd_fetch_source(g, p->w.src[k], b, i);
        winograd_weights_add(g, i, (b->to - b->from) * g->across, room->results, room->gradient, sums);
    }
}

static void add_norm(const struct pass *p, const struct winograd_band *b, double *sums)
{
    const struct winograd *g = &p->b->w;
    size_t area = g->rows->tile * g->width, at = b->from * area * g->src_channels;

    batch_norm_grad_add(&p->b->norm, p->in.dst[0]->data + at, p->w.src[0]->data + at,
                        (b->to - b->from) * area, sums);
}

static void run_chunk(const struct pass *p, const struct room *room, size_t i)
{
    const struct winograd *g = &p->b->w;
    size_t nrows = g->nimages * g->down, size = g->weights + g->bias;
    size_t begin = nrows * i / g->nchunks, to = nrows * (i + 1) / g->nchunks;
    float *sums = p->sums + i * size;
    double *norm_sums = p->norm_sums + i * p->b->norm_size;

    memset(sums, 0, size * sizeof *sums);
    memset(norm_sums, 0, p->b->norm_size * sizeof *norm_sums);
    for (size_t from = begin; from < to; from += g->band) {
        struct winograd_band b = winograd_band_of(g, from, to);

        for (size_t r = b.from; r < b.to; r++)
            read_gradient(p, room, r, r > begin ? winograd_first_new(g, r) : 0,
                          (r - b.from) * g->across, sums + g->weights);
        write_input(p, room, &b);
        if (p->b->norm.kind)
            add_norm(p, &b, norm_sums);
        add_weights(p, room, &b, from > begin, sums);
    }
}

static int run(struct op *op, struct exec *x, struct err *e)
{
    struct both *b = op->priv;
    struct pass p = pass_of(op);
    size_t size = b->w.weights + b->w.bias;

    if (b->norm.kind) {
        batch_norm_grad_again(&b->norm, &p.map);
        p.w.norm = &p.map;
    }
#pragma omp parallel num_threads(b->w.nthreads)
    {
        struct room room = room_of(&p, simd_thread());

        winograd_conv_pack(&b->in, p.in.weights->data, true, p.packed);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < b->w.nchunks; i++)
            run_chunk(&p, &room, i);
        conv_rows_add(p.sums, size, b->w.nchunks);
        winograd_weights_gather(&b->w, p.sums, b->weights.out[0]->data);
    }
    if (p.w.bias)
        memcpy(p.w.bias->data, p.sums + b->w.weights, b->w.dst_channels * sizeof *p.sums);
    return b->norm.kind ? batch_norm_grad_finish(&b->norm, x, p.norm_sums, b->w.nchunks, e) : 0;
}

#define KERNEL_OF(kind) {&kind, supports, prepare, run, release}

const struct kernel simd_winograd_both = KERNEL_OF(conv2d_grad_kind);
const struct kernel simd_winograd_both_concat = KERNEL_OF(concat_conv2d_grad_kind);
const struct kernel simd_winograd_both_norm = KERNEL_OF(batch_norm_relu_conv2d_grad_kind);
const struct kernel simd_winograd_both_norm_nobias = KERNEL_OF(batch_norm_relu_conv2d_nobias_grad_kind);
