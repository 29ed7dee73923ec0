/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm alone and with the ReLU behind it; the formulas are those of the reference kernel.
 *
 * All of it is bound by memory, so passes count: statistics read x once, the result reads x and
 * writes y; the gradient reads dy and x for the sums and again for dx. Where the ReLU is part of it
 * whether it let a value through is computed again from x, so that y is not read. Sums of short
 * blocks are floats, of differences to a value nearby (the first pixel's, or the mean), so that
 * nothing is lost; the blocks' sums are doubles. */
#include "config.h"
#include "trainer/backends/simd/batch_norm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/backends/ref/chunks.h"
#include "trainer/backends/ref/moments.h"
#include "trainer/backends/simd/simd.h"

#define BLOCK 64     /* vectors that are added up as floats */
#define MAX_LANES 16
#define ROWS 4096    /* numbers that one thread takes at a time, about */

/* Values per channel, repeated up to whole vectors. */
enum { A, B, C, SHIFT, PER_CHANNEL };

/* op->priv: what is wide depends on the instruction set that was there when it was prepared. */
struct norm {
    const struct norm_rows *rows;
    size_t npixels, nchannels;
    size_t size;     /* bytes of a number of x, y, dy and dx */
    size_t step;     /* numbers of a vector's pixels: channels, or lanes if these are more */
    size_t wide;     /* numbers of the vectors that are taken side by side; divides step */
};

/* Workspace: sums of all replicas, [2C + 1] doubles; sums of each chunk, [CHUNKS][2C] doubles; the
 * values per channel. */
struct work {
    const struct norm *n;
    double *sums, *chunks;
    float *k[PER_CHANNEL];
};

static bool has_relu(const struct op *op)
{
    return op->kind == &batch_norm_relu_kind || op->kind == &batch_norm_relu_grad_kind ||
           op->kind == &batch_norm_relu_infer_kind;
}

static bool has_dy(const struct op *op)
{
    return op->kind == &batch_norm_grad_kind || op->kind == &batch_norm_relu_grad_kind;
}

static const struct norm_rows *choose(const struct tensor *t)
{
    return norm_rows_best(tensor_channels(t), t->dtype);
}

/* x, y, dy and dx are of one type. */
static bool supports(const struct op *op)
{
    const struct tensor *x = op->in[0];

    return x->dtype == op->out[0]->dtype && x->dtype == op->in[has_dy(op) ? 1 : 0]->dtype &&
           choose(x) != NULL;
}

static size_t count_doubles(size_t nchannels)
{
    return 2 * nchannels + 2 + (size_t)CHUNKS * 2 * nchannels;
}

static int prepare(struct op *op, struct err *e)
{
    struct norm *n = calloc(1, sizeof *n);

    if (!n)
        return err_set(e, ERR_INTERNAL, "out of memory");
    n->npixels = tensor_pixels(op->in[0]);
    n->nchannels = tensor_channels(op->in[0]);
    n->rows = choose(op->in[0]);
    n->size = dtype_size(op->in[0]->dtype);
    n->step = n->nchannels > n->rows->lanes ? n->nchannels : n->rows->lanes;
    n->wide = n->rows->lanes * norm_rows_wide(n->rows, n->step);
    op->workspace_size = count_doubles(n->nchannels) * sizeof(double) +
                         PER_CHANNEL * n->step * sizeof(float);
    op->priv = n;
    return 0;
}

static void release(struct op *op)
{
    free(op->priv);
}

static struct work work_of(const struct op *op)
{
    struct work w = {.n = op->priv, .sums = op->workspace};

    w.chunks = w.sums + 2 * w.n->nchannels + 2;
    w.k[0] = (float *)(w.sums + count_doubles(w.n->nchannels));
    for (size_t i = 1; i < PER_CHANNEL; i++)
        w.k[i] = w.k[i - 1] + w.n->step;
    return w;
}

static void repeat(const struct work *w)
{
    for (size_t i = 0; i < PER_CHANNEL; i++)
        for (size_t c = w->n->nchannels; c < w->n->step; c++)
            w->k[i][c] = w->k[i][c - w->n->nchannels];
}

/* Number i of an activation. */
static const void *at(const struct norm *n, const void *t, size_t i)
{
    return (const char *)t + i * n->size;
}

static void *into(const struct norm *n, void *t, size_t i)
{
    return (char *)t + i * n->size;
}

/* A range of numbers, whole pixels: whole vectors first, then what is left, filled up with values
 * that add nothing. */
struct range {
    const void *dy, *x; /* dy NULL: sums of x and its square */
    size_t nsteps, rest;
};

static struct range range_of(const struct norm *n, const void *dy, const void *x, size_t begin,
                             size_t end)
{
    size_t count = (end - begin) * n->nchannels, i = begin * n->nchannels;

    return (struct range){dy ? at(n, dy, i) : NULL, at(n, x, i), count / n->step,
                          count % n->step};
}

/* One block of the channels from the first one on that are taken together, into total[2][C]. */
static void add_block(const struct work *w, const void *dy, const void *x, size_t count,
                      size_t first, bool relu, double *total)
{
    const struct norm *n = w->n;
    size_t vectors = n->wide / n->rows->lanes;
    float sum[NORM_WIDE * MAX_LANES], second[NORM_WIDE * MAX_LANES];

    if (dy)
        n->rows->grad_sums(at(n, dy, first), at(n, x, first), count, n->step, vectors, relu,
                           w->k[A] + first, w->k[C] + first, w->k[SHIFT] + first, sum, second);
    else
        n->rows->sums(at(n, x, first), count, n->step, vectors, w->k[SHIFT] + first, sum, second);
    for (size_t l = 0; l < n->wide; l++) {
        total[(first + l) % n->nchannels] += (double)sum[l];
        total[n->nchannels + (first + l) % n->nchannels] += (double)second[l];
    }
}

static void sum_range(const struct work *w, const struct range *r, bool relu, double *total)
{
    const struct norm *n = w->n;
    float dy[MAX_LANES] = {0}, x[MAX_LANES]; /* or as many halves */

    memset(total, 0, 2 * n->nchannels * sizeof *total);
    for (size_t i = 0; i < r->nsteps; i += BLOCK)
        for (size_t first = 0; first < n->step; first += n->wide)
            add_block(w, r->dy ? at(n, r->dy, i * n->step) : NULL, at(n, r->x, i * n->step),
                      r->nsteps - i < BLOCK ? r->nsteps - i : BLOCK, first, relu, total);
    if (r->rest == 0)
        return;
    if (n->rows->dtype == DTYPE_F32)
        memcpy(x, w->k[SHIFT], n->step * sizeof *x);
    else /* without dy a number of x, and so exact */
        dtype_encode(n->rows->dtype, w->k[SHIFT], (uint16_t *)(void *)x, n->step);
    memcpy(x, at(n, r->x, r->nsteps * n->step), r->rest * n->size);
    if (r->dy)
        memcpy(dy, at(n, r->dy, r->nsteps * n->step), r->rest * n->size);
    add_block(w, r->dy ? dy : NULL, x, 1, 0, relu, total);
}

static void sum_all(const struct op *op, const struct work *w, const void *dy, const void *x)
{
    size_t nchannels = w->n->nchannels;
    bool relu = has_relu(op);

#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < CHUNKS; i++) {
        struct range r = range_of(w->n, dy, x, chunk_begin(w->n->npixels, i),
                                  chunk_begin(w->n->npixels, i + 1));

        sum_range(w, &r, relu, w->chunks + i * 2 * nchannels);
    }
    memset(w->sums, 0, 2 * nchannels * sizeof *w->sums);
    for (size_t i = 0; i < CHUNKS; i++)
        for (size_t c = 0; c < 2 * nchannels; c++)
            w->sums[c] += w->chunks[i * 2 * nchannels + c];
}

/* sums[2C + 1]: two sums per channel and the number of pixels, of this replica, then of all */
static int sum_over_replicas(const struct op *op, struct exec *x, double *sums, struct err *e)
{
    size_t n = 2 * tensor_channels(op->in[0]);

    sums[n] = (double)tensor_pixels(op->in[0]);
    if (x->empty)
        memset(sums, 0, (n + 1) * sizeof *sums);
    return op->attr.sync && x->sum ? x->sum(x->sum_arg, sums, n + 1, e) : 0;
}

/* y = a x + c, or with dy the gradient dx; n vectors of one step. */
static void map_steps(const struct work *w, const void *dy, const void *x, size_t nsteps,
                      bool relu, void *dst)
{
    const struct norm *n = w->n;
    size_t vectors = n->wide / n->rows->lanes;

    for (size_t i = 0; i < n->step; i += n->wide)
        if (dy)
            n->rows->gradient(at(n, dy, i), at(n, x, i), nsteps, n->step, vectors, relu, w->k[A] + i,
                              w->k[C] + i, w->k[B] + i, w->k[SHIFT] + i, into(n, dst, i));
        else
            n->rows->apply(at(n, x, i), nsteps, n->step, vectors, relu, w->k[A] + i, w->k[C] + i,
                           into(n, dst, i));
}

static void map_all(const struct op *op, const struct work *w, const void *dy, const void *x)
{
    const struct norm *n = w->n;
    struct range r = range_of(n, dy, x, 0, n->npixels);
    size_t block = ROWS / n->step > 0 ? ROWS / n->step : 1, rest = r.nsteps * n->step;
    float last[3][MAX_LANES] = {{0}}; /* or as many halves */
    void *dst = op->out[0]->data;     /* either member of the union */
    bool relu = has_relu(op);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < r.nsteps; i += block)
        map_steps(w, dy ? at(n, dy, i * n->step) : NULL, at(n, x, i * n->step),
                  r.nsteps - i < block ? r.nsteps - i : block, relu, into(n, dst, i * n->step));
    if (r.rest == 0)
        return;
    memcpy(last[0], at(n, x, rest), r.rest * n->size);
    if (dy)
        memcpy(last[1], at(n, dy, rest), r.rest * n->size);
    map_steps(w, dy ? last[1] : NULL, last[0], 1, relu, last[2]);
    memcpy(into(n, dst, rest), last[2], r.rest * n->size);
}

/* From sums of x - shift to sums of x, which replicas can add up. */
static void remove_shift(const struct op *op, const struct work *w)
{
    size_t nchannels = tensor_channels(op->in[0]);
    double count = (double)tensor_pixels(op->in[0]);

    for (size_t c = 0; c < nchannels; c++) {
        double shift = (double)w->k[SHIFT][c], sum = w->sums[c];

        w->sums[c] = sum + count * shift;
        w->sums[nchannels + c] += 2 * shift * sum + count * shift * shift;
    }
}

/* Mean and scale from the sums; the running statistics move on. */
static void finish_statistics(const struct op *op, const struct work *w)
{
    size_t nchannels = tensor_channels(op->in[0]);
    float *mean_out = op->out[1]->data, *scale_out = mean_out + nchannels;
    const float *gamma = op->in[1]->data, *beta = op->in[2]->data;
    float *running_mean = op->in[3]->data, *running_var = op->in[4]->data;
    double count = w->sums[2 * nchannels], momentum = op->attr.momentum;
    double unbiased = count > 1 ? count / (count - 1) : 1;

    for (size_t c = 0; c < nchannels; c++) {
        double mean = w->sums[c] / count;
        double var = fmax(w->sums[nchannels + c] / count - mean * mean, 0);

        mean_out[c] = (float)mean;
        scale_out[c] = (float)(1 / sqrt(var + op->attr.eps));
        running_mean[c] = (float)((1 - momentum) * (double)running_mean[c] + momentum * mean);
        running_var[c] =
            (float)((1 - momentum) * (double)running_var[c] + momentum * var * unbiased);
        w->k[A][c] = gamma[c] * scale_out[c];
        w->k[C][c] = beta[c] - mean_out[c] * w->k[A][c];
    }
}

static void sum_input(const struct op *op, struct work *w)
{
    if (op_moments_in(op)) {
        moments_sums(op_moments_in(op), w->n->npixels, w->sums);
        return;
    }
    if (op->in[0]->dtype == DTYPE_F32)
        memcpy(w->k[SHIFT], op->in[0]->data, w->n->nchannels * sizeof(float));
    else
        dtype_decode(op->in[0]->dtype, op->in[0]->half, w->k[SHIFT], w->n->nchannels);
    repeat(w);
    sum_all(op, w, NULL, op->in[0]->data);
    remove_shift(op, w);
}

/* As far as a and c. */
static int find_statistics(const struct op *op, struct exec *x, struct work *w, struct err *e)
{
    sum_input(op, w);
    if (sum_over_replicas(op, x, w->sums, e) < 0)
        return -1;
    finish_statistics(op, w);
    repeat(w);
    return 0;
}

static int run_batch_norm(struct op *op, struct exec *x, struct err *e)
{
    struct work w = work_of(op);

    if (find_statistics(op, x, &w, e) < 0)
        return -1;
    map_all(op, &w, NULL, op->in[0]->data);
    return 0;
}

static struct batch_norm_map map_of(const struct work *w)
{
    return (struct batch_norm_map){w->n->rows, w->n->step, w->n->wide, w->k[A], w->k[C]};
}

int batch_norm_statistics(struct op *op, struct exec *x, struct batch_norm_map *map, struct err *e)
{
    struct work w = work_of(op);

    *map = map_of(&w);
    return find_statistics(op, x, &w, e);
}

void batch_norm_apply(const struct batch_norm_map *map, const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < map->step; i += map->wide)
        map->rows->apply(x + i, n / map->step, map->step, map->wide / map->rows->lanes, true, map->a + i,
                         map->c + i, y + i);
}

static int run_infer(struct op *op, struct exec *x, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]);
    const float *gamma = op->in[1]->data, *beta = op->in[2]->data;
    const float *mean = op->in[3]->data, *var = op->in[4]->data;
    struct work w = work_of(op);

    (void)x;
    (void)e;
    for (size_t c = 0; c < nchannels; c++) {
        w.k[A][c] = (float)((double)gamma[c] / sqrt((double)var[c] + op->attr.eps));
        w.k[C][c] = beta[c] - mean[c] * w.k[A][c];
    }
    repeat(&w);
    map_all(op, &w, NULL, op->in[0]->data);
    return 0;
}

/* a and c of (dy, x, gamma, saved), and beta where the ReLU is part of it */
static void find_map(const struct op *op, struct work *w)
{
    size_t nchannels = w->n->nchannels;
    const float *gamma = op->in[2]->data, *mean = op->in[3]->data, *scale = mean + nchannels;

    for (size_t c = 0; c < nchannels; c++) {
        w->k[A][c] = gamma[c] * scale[c];
        w->k[C][c] = has_relu(op) ? op->in[4]->data[c] - mean[c] * w->k[A][c] : 0;
        w->k[B][c] = 0;
        w->k[SHIFT][c] = mean[c];
    }
    repeat(w);
}

void batch_norm_again(struct op *op, struct batch_norm_map *map)
{
    struct work w = work_of(op);

    find_map(op, &w);
    *map = map_of(&w);
}

static int run_grad(struct op *op, struct exec *x, struct err *e)
{
    size_t nchannels = tensor_channels(op->in[0]);
    const float *gamma = op->in[2]->data, *mean = op->in[3]->data, *scale = mean + nchannels;
    float *dgamma = op->out[1]->data, *dbeta = op->out[2]->data;
    struct work w = work_of(op);

    find_map(op, &w);
    sum_all(op, &w, op->in[0]->data, op->in[1]->data);
    for (size_t c = 0; c < nchannels; c++) {
        dbeta[c] = (float)w.sums[c]; /* this replica's share: they are summed with all others */
        dgamma[c] = (float)(w.sums[nchannels + c] * (double)scale[c]);
    }
    if (sum_over_replicas(op, x, w.sums, e) < 0)
        return -1;
    for (size_t c = 0; c < nchannels; c++) {
        double count = w.sums[2 * nchannels], s = (double)scale[c], a = (double)gamma[c] * s;
        double b = -a * s * s * w.sums[nchannels + c] / count;

        w.k[B][c] = (float)b;
        w.k[SHIFT][c] = (float)(-a * w.sums[c] / count - b * (double)mean[c]);
    }
    repeat(&w);
    map_all(op, &w, op->in[0]->data, op->in[1]->data);
    return 0;
}

const struct kernel simd_batch_norm = {&batch_norm_kind, supports, prepare, run_batch_norm,
                                       release};
const struct kernel simd_batch_norm_relu = {&batch_norm_relu_kind, supports, prepare,
                                            run_batch_norm, release};
const struct kernel simd_batch_norm_grad = {&batch_norm_grad_kind, supports, prepare, run_grad,
                                            release};
const struct kernel simd_batch_norm_relu_grad = {&batch_norm_relu_grad_kind, supports, prepare,
                                                 run_grad, release};
const struct kernel simd_batch_norm_infer = {&batch_norm_infer_kind, supports, prepare, run_infer,
                                             release};
const struct kernel simd_batch_norm_relu_infer = {&batch_norm_relu_infer_kind, supports, prepare,
                                                  run_infer, release};
