/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm and its gradient. */
#include "src/base.h"
#include "trainer/backends/cpu/simd.h"

#include "trainer/backends/cpu/norm_rows.h"
#include "trainer/backends/ref/ref.h"

/* What batch norm and its gradient share: sums over all pixels,
 * in chunks that do not depend on the number of threads, and passes over whole tensors.
 *
 * All of it is bound by memory, so the number of passes counts. The forward op reads x for the
 * statistics, and reads x and writes y for the result; the gradient reads dy and x for the sums and
 * once more for dx. With a ReLU its sign is computed again from x, so that y is not read. Short
 * blocks are summed in floats, as differences to a nearby value, the first pixel's or the mean, so
 * that no digits are lost; the blocks' sums are doubles. */

/* Coefficients of channels, repeated to whole vectors: a, b, c and shift of norm_rows.h. */
enum { NORM_WORK_A, NORM_WORK_B, NORM_WORK_C, NORM_WORK_SHIFT, NORM_WORK_VALUES };

/* op->priv: depends on the instruction set when the op was prepared. */
struct norm_work_plan {
    const struct norm_rows *rows;
    size_t npixels, nchannels;
    size_t step;     /* values of a row of whole pixels and whole vectors: the channels, or the
                      * lanes if these are more */
    size_t wide;     /* values of the vectors that a loop processes; divides step */
    bool relu;       /* behind the norm */
};

/* The workspace: 2C sums and the number of pixels, over all replicas once norm_sum_replicas() has
 * run, as doubles; [CHUNKS][2C] doubles of sums of each chunk; the coefficients. */
struct norm_work {
    const struct norm_work_plan *plan;
    double *sums, *chunks;
    float *k[NORM_WORK_VALUES];
};

#define BLOCK 64     /* rows that are added up as floats */
#define MAX_LANES 16
#define ROWS 4096    /* values that one thread takes at a time, about */
#define STREAM ((size_t)1 << 22) /* floats of a result, at least, that is written past the cache */
#define ALIGN 64

/* Returns the loops with the widest vectors that suit the number of channels, or NULL. */
static const struct norm_rows *norm_rows_best(size_t nchannels)
{
#ifdef __x86_64__
    static const struct norm_rows *const all[] = {
        [SIMD_AVX2] = &norm_rows_avx2, [SIMD_AVX512] = &norm_rows_avx512};

    for (enum simd_isa i = simd_isa(); i > SIMD_NONE; i--)
        if (nchannels % all[i]->lanes == 0 || all[i]->lanes % nchannels == 0)
            return all[i];
#endif
    return NULL;
}

static bool norm_work_supports(const struct op *op)
{
    return norm_rows_best(tensor_channels(op->in[0])) != NULL;
}

static size_t norm_work_count_doubles(size_t nchannels)
{
    return 2 * nchannels + 2 + (size_t)CHUNKS * 2 * nchannels;
}

static int norm_work_prepare(struct op *op, struct err *e)
{
    const struct tensor *x = op->in[0];
    struct norm_work_plan n = {.npixels = tensor_pixels(x), .nchannels = tensor_channels(x),
                               .rows = norm_rows_best(tensor_channels(x)),
                               .relu = op->kind == &batch_norm_relu_kind ||
                                       op->kind == &batch_norm_relu_grad_kind};

    size_t lanes = n.rows->lanes;
    n.step = n.nchannels > lanes ? n.nchannels : lanes;
    n.wide = lanes * (n.step % (4 * lanes) == 0 ? 4 : n.step % (2 * lanes) == 0 ? 2 : 1);
    op->workspace_size = norm_work_count_doubles(n.nchannels) * sizeof(double) +
                         NORM_WORK_VALUES * n.step * sizeof(float);
    return simd_keep(op, &n, sizeof n, e);
}

static struct norm_work norm_work_of(const struct op *op)
{
    struct norm_work w = {.plan = op->priv, .sums = op->workspace};

    w.chunks = w.sums + 2 * w.plan->nchannels + 2;
    w.k[0] = (float *)(w.sums + norm_work_count_doubles(w.plan->nchannels));
    for (size_t i = 1; i < NORM_WORK_VALUES; i++)
        w.k[i] = w.k[i - 1] + w.plan->step;
    return w;
}

/* Repeats the coefficients to whole vectors. */
static void norm_work_repeat(const struct norm_work *w)
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

/* Computes w->sums over the whole tensors: of x - shift and its square, or with dy those of
 * grad_sums (norm_rows.h). */
static void norm_work_sum(const struct norm_work *w, const float *dy, const float *x)
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
                              w->k[NORM_WORK_A] + i, w->k[NORM_WORK_C] + i,
                              w->k[NORM_WORK_B] + i, w->k[NORM_WORK_SHIFT] + i, dst + i);
        else
            n->rows->apply(x + i, nsteps, n->step, vectors, n->relu, stream,
                           w->k[NORM_WORK_A] + i, w->k[NORM_WORK_C] + i, dst + i);
}

/* Writes dst = a x + c, with a ReLU at least 0, or with dy the gradient. */
static void norm_work_apply(const struct norm_work *w, const float *dy, const float *x, float *dst)
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

/* Batch norm, alone and with the ReLU behind it. The formulas are those of ref/norm.c; once
 * the statistics are known they are y = a x + c with coefficients of each channel. */

/* Converts sums of x - shift and of its square to sums of x and x^2, which replicas can add up. */
static void remove_shift(const struct op *op, const struct norm_work *w)
{
    size_t nchannels = tensor_channels(op->in[0]);
    double count = (double)tensor_pixels(op->in[0]);

    for (size_t c = 0; c < nchannels; c++) {
        double shift = (double)w->k[NORM_WORK_SHIFT][c], sum = w->sums[c];

        w->sums[c] = sum + count * shift;
        w->sums[nchannels + c] += 2 * shift * sum + count * shift * shift;
    }
}

static int find_statistics(const struct op *op, struct exec *x, const struct norm_work *w,
                           struct err *e)
{
    memcpy(w->k[NORM_WORK_SHIFT], op->in[0]->data, w->plan->nchannels * sizeof(float));
    norm_work_repeat(w);
    norm_work_sum(w, NULL, op->in[0]->data);
    remove_shift(op, w);
    if (norm_sum_replicas(op, x, w->sums, e) < 0)
        return -1;
    norm_finish_statistics(op, w->sums, w->k[NORM_WORK_A], w->k[NORM_WORK_C]);
    return 0;
}

static int batch_norm_run(struct op *op, struct exec *x, struct err *e)
{
    struct norm_work w = norm_work_of(op);

    if (op->kind == &batch_norm_infer_kind)
        norm_running_map(op, w.k[NORM_WORK_A], w.k[NORM_WORK_C]);
    else if (find_statistics(op, x, &w, e) < 0)
        return -1;
    norm_work_repeat(&w);
    norm_work_apply(&w, NULL, op->in[0]->data, op->out[0]->data);
    return 0;
}

#define KERNEL_OF(_kind, _run)                                                                    \
    .kind = &_kind, .supports = norm_work_supports, .prepare = norm_work_prepare, .run = _run,    \
    .release = simd_release

const struct kernel simd_batch_norm = {KERNEL_OF(batch_norm_kind, batch_norm_run)};
const struct kernel simd_batch_norm_relu = {KERNEL_OF(batch_norm_relu_kind, batch_norm_run)};
const struct kernel simd_batch_norm_infer = {KERNEL_OF(batch_norm_infer_kind, batch_norm_run)};

/* Gradients of batch norm, alone and with the ReLU behind it. The formulas are those of
 * ref/norm.c. */

/* Computes a and c from gamma, saved and beta: the ReLU behind the norm was positive where a x + c
 * > 0. */
static void find_map(const struct op *op, const struct norm_work *w)
{
    size_t nchannels = w->plan->nchannels;
    const float *gamma = op->in[2]->data, *mean = op->in[3]->data, *scale = mean + nchannels;

    for (size_t c = 0; c < nchannels; c++) {
        w->k[NORM_WORK_A][c] = gamma[c] * scale[c];
        w->k[NORM_WORK_C][c] = op->in[4]->data[c] - mean[c] * w->k[NORM_WORK_A][c];
        w->k[NORM_WORK_SHIFT][c] = mean[c];
    }
    norm_work_repeat(w);
}

static int batch_norm_grad_run(struct op *op, struct exec *x, struct err *e)
{
    struct norm_work work = norm_work_of(op), *w = &work;
    size_t nchannels = w->plan->nchannels;
    const float *gamma = op->in[2]->data, *mean = op->in[3]->data, *scale = mean + nchannels;
    float *dgamma = op->out[1]->data, *dbeta = op->out[2]->data;

    find_map(op, w);
    norm_work_sum(w, op->in[0]->data, op->in[1]->data);
    for (size_t c = 0; c < nchannels; c++) {
        dbeta[c] = (float)w->sums[c]; /* this replica's share, which is summed over all replicas
                                       * later */
        dgamma[c] = (float)(w->sums[nchannels + c] * (double)scale[c]);
    }
    if (norm_sum_replicas(op, x, w->sums, e) < 0)
        return -1;
    for (size_t c = 0; c < nchannels; c++) {
        double count = w->sums[2 * nchannels], s = (double)scale[c], a = (double)gamma[c] * s;
        double b = -a * s * s * w->sums[nchannels + c] / count;

        w->k[NORM_WORK_B][c] = (float)b;
        w->k[NORM_WORK_SHIFT][c] = (float)(-a * w->sums[c] / count - b * (double)mean[c]);
    }
    norm_work_repeat(w);
    norm_work_apply(w, op->in[0]->data, op->in[1]->data, op->out[0]->data);
    return 0;
}

const struct kernel simd_batch_norm_grad = {
    KERNEL_OF(batch_norm_grad_kind, batch_norm_grad_run)};
const struct kernel simd_batch_norm_relu_grad = {
    KERNEL_OF(batch_norm_relu_grad_kind, batch_norm_grad_run)};
