/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums and passes over whole tensors for batch norm (norm_work.h). */
#include "config.h"
#include "trainer/backends/cpu/norm/norm_work.h"

#include <stdint.h>
#include <string.h>

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/ref/ref.h"

#define BLOCK 64     /* rows that are added up as floats */
#define MAX_LANES 16
#define ROWS 4096    /* values that one thread takes at a time, about */
#define STREAM ((size_t)1 << 22) /* floats of a result, at least, that is written past the cache */
#define ALIGN 64

bool norm_work_supports(const struct op *op)
{
    return norm_rows_best(tensor_channels(op->in[0])) != NULL;
}

static size_t norm_work_count_doubles(size_t nchannels)
{
    return 2 * nchannels + 2 + (size_t)CHUNKS * 2 * nchannels;
}

int norm_work_prepare(struct op *op, struct err *e)
{
    const struct tensor *x = op->in[0];
    struct norm_work_plan n = {.npixels = tensor_pixels(x), .nchannels = tensor_channels(x),
                               .rows = norm_rows_best(tensor_channels(x)),
                               .relu = op->kind == &batch_norm_relu_kind ||
                                       op->kind == &batch_norm_relu_grad_kind};

    n.step = norm_rows_step(n.rows, n.nchannels);
    n.wide = n.rows->lanes * norm_rows_width(n.rows, n.step);
    op->workspace_size = norm_work_count_doubles(n.nchannels) * sizeof(double) +
                         NORM_WORK_VALUES * n.step * sizeof(float);
    return simd_keep(op, &n, sizeof n, e);
}

struct norm_work norm_work_of(const struct op *op)
{
    struct norm_work w = {.plan = op->priv, .sums = op->workspace};

    w.chunks = w.sums + 2 * w.plan->nchannels + 2;
    w.k[0] = (float *)(w.sums + norm_work_count_doubles(w.plan->nchannels));
    for (size_t i = 1; i < NORM_WORK_VALUES; i++)
        w.k[i] = w.k[i - 1] + w.plan->step;
    return w;
}

void norm_work_repeat(const struct norm_work *w)
{
    for (size_t i = 0; i < NORM_WORK_VALUES; i++)
        for (size_t c = w->plan->nchannels; c < w->plan->step; c++)
            w->k[i][c] = w->k[i][c - w->plan->nchannels];
}

/* A range of pixels: whole steps, then the rest, which is padded with values that add nothing. */
struct range {
    const float *dy, *x; /* dy NULL: sums of x and its square */
    size_t nsteps, rest;
};

static struct range range_of(const struct norm_work_plan *n, const float *dy, const float *x,
                             size_t begin, size_t end)
{
    size_t count = (end - begin) * n->nchannels, i = begin * n->nchannels;

    return (struct range){dy ? dy + i : NULL, x + i, count / n->step, count % n->step};
}

/* Adds one block of rows to total[2][C], for the channels from `first` on that a loop processes. */
static void add_block(const struct norm_work *w, const float *dy, const float *x, size_t count,
                      size_t first, double *total)
{
    const struct norm_work_plan *n = w->plan;
    size_t vectors = n->wide / n->rows->lanes;
    float sum[NORM_WIDE * MAX_LANES], second[NORM_WIDE * MAX_LANES];

    if (dy)
        n->rows->grad_sums(dy + first, x + first, count, n->step, vectors, n->relu,
                           w->k[NORM_WORK_A] + first, w->k[NORM_WORK_C] + first,
                           w->k[NORM_WORK_SHIFT] + first, sum, second);
    else
        n->rows->sums(x + first, count, n->step, vectors, w->k[NORM_WORK_SHIFT] + first, sum,
                      second);
    for (size_t l = 0; l < n->wide; l++) {
        total[(first + l) % n->nchannels] += (double)sum[l];
        total[n->nchannels + (first + l) % n->nchannels] += (double)second[l];
    }
}

static void add_range(const struct norm_work *w, const struct range *r, double *total)
{
    const struct norm_work_plan *n = w->plan;
    float dy[MAX_LANES] = {0}, x[MAX_LANES];

    for (size_t i = 0; i < r->nsteps; i += BLOCK)
        for (size_t first = 0; first < n->step; first += n->wide)
            add_block(w, r->dy ? r->dy + i * n->step : NULL, r->x + i * n->step,
                      r->nsteps - i < BLOCK ? r->nsteps - i : BLOCK, first, total);
    if (r->rest == 0)
        return;
    memcpy(x, w->k[NORM_WORK_SHIFT], n->step * sizeof *x);
    memcpy(x, r->x + r->nsteps * n->step, r->rest * sizeof *x);
    if (r->dy)
        memcpy(dy, r->dy + r->nsteps * n->step, r->rest * sizeof *dy);
    add_block(w, r->dy ? dy : NULL, x, 1, 0, total);
}

void norm_work_sum(const struct norm_work *w, const float *dy, const float *x)
{
    size_t nchannels = w->plan->nchannels;

#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < CHUNKS; i++) {
        struct range r = range_of(w->plan, dy, x, chunk_begin(w->plan->npixels, i),
                                  chunk_begin(w->plan->npixels, i + 1));

        memset(w->chunks + i * 2 * nchannels, 0, 2 * nchannels * sizeof *w->chunks);
        add_range(w, &r, w->chunks + i * 2 * nchannels);
    }
    memset(w->sums, 0, 2 * nchannels * sizeof *w->sums);
    for (size_t i = 0; i < CHUNKS; i++)
        for (size_t c = 0; c < 2 * nchannels; c++)
            w->sums[c] += w->chunks[i * 2 * nchannels + c];
}

int norm_work_replicas(const struct op *op, const struct norm_work *w, struct exec *x,
                       struct err *e)
{
    size_t n = 2 * w->plan->nchannels;

    w->sums[n] = (double)w->plan->npixels;
    if (x->empty)
        memset(w->sums, 0, (n + 1) * sizeof *w->sums);
    return op->attr.sync && x->sum ? x->sum(x->sum_arg, w->sums, n + 1, e) : 0;
}

/* Applies y = a x + c, or with dy the gradient, to nsteps steps. */
static void map_steps(const struct norm_work *w, const float *dy, const float *x, size_t nsteps,
                      float *dst)
{
    const struct norm_work_plan *n = w->plan;
    bool stream = n->npixels * n->nchannels >= STREAM && dst != x && (uintptr_t)dst % ALIGN == 0;
    size_t vectors = n->wide / n->rows->lanes;

    for (size_t i = 0; i < n->step; i += n->wide)
        if (dy)
            n->rows->gradient(dy + i, x + i, nsteps, n->step, vectors, n->relu,
                              w->k[NORM_WORK_A] + i, w->k[NORM_WORK_C] + i, w->k[NORM_WORK_A] + i,
                              w->k[NORM_WORK_B] + i, w->k[NORM_WORK_SHIFT] + i, dst + i);
        else
            n->rows->apply(x + i, nsteps, n->step, vectors, n->relu, stream,
                           w->k[NORM_WORK_A] + i, w->k[NORM_WORK_C] + i, dst + i);
}

void norm_work_apply(const struct norm_work *w, const float *dy, const float *x, float *dst)
{
    const struct norm_work_plan *n = w->plan;
    struct range r = range_of(n, dy, x, 0, n->npixels);
    size_t block = ROWS / n->step > 0 ? ROWS / n->step : 1, rest = r.nsteps * n->step;
    float last[3][MAX_LANES] = {{0}};

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < r.nsteps; i += block)
        map_steps(w, dy ? dy + i * n->step : NULL, x + i * n->step,
                  r.nsteps - i < block ? r.nsteps - i : block, dst + i * n->step);
    if (r.rest == 0)
        return;
    memcpy(last[0], x + rest, r.rest * sizeof *x);
    if (dy)
        memcpy(last[1], dy + rest, r.rest * sizeof *dy);
    map_steps(w, dy ? last[1] : NULL, last[0], 1, last[2]);
    memcpy(dst + rest, last[2], r.rest * sizeof *dst);
}
