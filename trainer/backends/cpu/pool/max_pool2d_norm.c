/* SPDX-License-Identifier: BSD-3-Clause */
/* Max pooling with the batch norm and ReLU in front of it (norm_prologue.h), two rows at a time,
 * and its gradient with the sums that the norm's gradient needs. */
#include "config.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

#include <string.h>

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/norm/norm_prologue.h"
#include "trainer/backends/cpu/pool/pool_kernels.h"
#include "trainer/backends/ref/chunks.h"

/* op->priv */
struct max_pool2d_norm {
    size_t width, n, nrows;   /* pixels of a row and channels of x; rows of the result */
    size_t scale_shift, copies;      /* floats of the coefficients; of one thread's two rows */
    size_t nthreads;
};

static bool max_pool2d_norm_supports(const struct op *op)
{
    const struct shape *x = &op->in[op->kind->source]->shape;

    return norm_prologue_supports(op) && max_pool2d_supports(op) &&
           x->dim[DIM_H] % 2 == 0 && x->dim[DIM_W] % 2 == 0;
}

/* Workspace: sums of chunks [CHUNKS][2C], coefficients, copies of each thread. */
static int max_pool2d_norm_prepare(struct op *op, struct err *e)
{
    const struct tensor *x = op->in[op->kind->source];
    struct max_pool2d_norm p = {.width = (size_t)x->shape.dim[DIM_W], .n = tensor_channels(x),
                                .nrows = (size_t)(x->shape.dim[DIM_N] * x->shape.dim[DIM_H] / 2),
                                .scale_shift = norm_prologue_size(op), .nthreads = simd_threads()};

    p.copies = 2 * p.width * p.n;
    op->workspace_size = CHUNKS * 2 * p.n * sizeof(double) +
                         (p.scale_shift + p.nthreads * p.copies) * sizeof(float);
    return simd_keep(op, &p, sizeof p, e);
}

/* Applies the norm to two rows of x. */
static const float *normalise(const struct max_pool2d_norm *p, const struct norm_prologue *norm,
                              const float *x, float *copy)
{
    batch_norm_apply(&norm->map, x, 2 * p->width * p->n, copy);
    return copy;
}

static int max_pool2d_norm_run_forward(struct op *op, struct exec *x, struct err *e)
{
    const struct max_pool2d_norm *p = op->priv;
    float *scale_shift = (float *)((double *)op->workspace + CHUNKS * 2 * p->n);
    float *copies = scale_shift + p->scale_shift;
    const struct tensor *src = op->in[0];
    struct norm_prologue norm;

    norm_prologue_init(&norm, op, scale_shift);
#pragma omp parallel for schedule(static) num_threads(p->nthreads)
    for (size_t row = 0; row < p->nrows; row++) {
        if (row + 1 < p->nrows)
            simd_fetch(src->data + 2 * (row + 1) * p->width * p->n, 2 * p->width * p->n);
        max_pool2d_rows(normalise(p, &norm, src->data + 2 * row * p->width * p->n,
                                  copies + simd_thread() * p->copies),
                        p->width * p->n, p->width, p->n,
                        op->out[0]->data + row * (p->width / 2) * p->n);
    }
    return 0;
}

/* Processes the rows of chunk i of the result. */
static void max_pool2d_norm_run_chunk(const struct op *op, const struct norm_prologue *norm,
                                      size_t i, float *copy, double *sums)
{
    const struct max_pool2d_norm *p = op->priv;
    size_t two = 2 * p->width * p->n;

    memset(sums, 0, 2 * p->n * sizeof *sums);
    for (size_t row = chunk_begin(p->nrows, i); row < chunk_begin(p->nrows, i + 1); row++) {
        const float *x = op->in[1]->data + row * two, *added = NULL;
        float *dx = op->out[0]->data + row * two;

        if (op->in[OP_ADDED])
            added = op->in[OP_ADDED]->data + row * two;
        max_pool2d_rows_grad(op->in[0]->data + row * (p->width / 2) * p->n,
                             normalise(p, norm, x, copy), added, p->width, p->n, dx);
        if (op->out[OP_OUT_SUMS])
            norm_prologue_add_sums(norm, dx, x, 2 * p->width, sums);
    }
}

static int max_pool2d_norm_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct max_pool2d_norm *p = op->priv;
    double *sums = op->workspace;
    float *scale_shift = (float *)(sums + CHUNKS * 2 * p->n);
    float *copies = scale_shift + p->scale_shift;
    struct norm_prologue norm;

    norm_prologue_init(&norm, op, scale_shift);
#pragma omp parallel for schedule(static) num_threads(p->nthreads)
    for (size_t i = 0; i < CHUNKS; i++)
        max_pool2d_norm_run_chunk(op, &norm, i, copies + simd_thread() * p->copies,
                                  sums + i * 2 * p->n);
    if (op->out[OP_OUT_SUMS])
        norm_prologue_write_sums(&norm, sums, CHUNKS, op->out[OP_OUT_SUMS]);
    return 0;
}

const struct kernel simd_max_pool2d_norm = {
    .kind = &max_pool2d_kind, .supports = max_pool2d_norm_supports,
    .prepare = max_pool2d_norm_prepare, .run = max_pool2d_norm_run_forward,
    .release = simd_release, .requires = OP_HAS_SCALE_SHIFT};
const struct kernel simd_max_pool2d_norm_grad = {
    .kind = &max_pool2d_grad_kind, .supports = max_pool2d_norm_supports,
    .prepare = max_pool2d_norm_prepare, .run = max_pool2d_norm_run_grad, .release = simd_release,
    .accepts = OP_GIVES_SUMS | OP_HAS_ADDED, .requires = OP_HAS_SCALE_SHIFT};
