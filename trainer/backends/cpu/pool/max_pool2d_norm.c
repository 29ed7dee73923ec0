/* SPDX-License-Identifier: BSD-3-Clause */
/* Max pooling of what a norm and its ReLU make of x (raw_norm.h), two rows at a time, and the
 * gradient of that, with the sums that the norm's gradient needs. */
#include "config.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/norm/raw_norm.h"
#include "trainer/backends/cpu/pool/pool_kernels.h"
#include "trainer/backends/ref/chunks.h"

/* op->priv */
struct pool {
    size_t width, n, nrows;   /* of x; rows of the result */
    size_t coef, copies;      /* floats: coefficients; a thread's two rows */
    size_t nthreads;
};

static bool supports(const struct op *op)
{
    return raw_norm_support(op, DTYPE_F32) && max_pool2d_supports(op);
}

/* Workspace: sums of chunks [CHUNKS][2C], coefficients, copies of each thread. */
static int prepare(struct op *op, struct err *e)
{
    const struct tensor *x = op->in[op->kind->source];
    struct pool *p = malloc(sizeof *p);

    if (!p)
        return err_set(e, ERR_INTERNAL, "out of memory");
    *p = (struct pool){.width = (size_t)x->shape.dim[DIM_W], .n = tensor_channels(x),
                       .nrows = (size_t)(x->shape.dim[DIM_N] * x->shape.dim[DIM_H] / 2),
                       .coef = raw_norm_size(op), .nthreads = simd_threads()};
    p->copies = 2 * p->width * p->n;
    op->workspace_size = CHUNKS * 2 * p->n * sizeof(double) +
                         (p->coef + p->nthreads * p->copies) * sizeof(float);
    op->priv = p;
    return 0;
}

static void release(struct op *op)
{
    free(op->priv);
}

/* Two rows of x through the norm. */
static const float *normalise(const struct pool *p, const struct raw_norm *norm, const float *x,
                              float *copy)
{
    batch_norm_apply(&norm->map, x, 2 * p->width * p->n, copy);
    return copy;
}

static int run_forward(struct op *op, struct exec *x, struct err *e)
{
    const struct pool *p = op->priv;
    float *coef = (float *)((double *)op->workspace + CHUNKS * 2 * p->n), *copies = coef + p->coef;
    const struct tensor *src = op->in[0];
    struct raw_norm norm;

    (void)x;
    (void)e;
    raw_norm_init(&norm, op, coef);
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

/* Rows of the result of chunk i. */
static void run_chunk(const struct op *op, const struct raw_norm *norm, size_t i, float *copy,
                      double *sums)
{
    const struct pool *p = op->priv;
    size_t two = 2 * p->width * p->n;

    memset(sums, 0, 2 * p->n * sizeof *sums);
    for (size_t row = chunk_begin(p->nrows, i); row < chunk_begin(p->nrows, i + 1); row++) {
        const float *x = op->in[1]->data + row * two, *added = NULL;
        float *dx = op->out[0]->data + row * two;

        if (op->in[OP_ADDED])
            added = op->in[OP_ADDED]->data + row * two;
        max_pool2d_grad_rows(op->in[0]->data + row * (p->width / 2) * p->n,
                             normalise(p, norm, x, copy), added, p->width, p->n, dx);
        if (op->out[OP_OUT_SUMS])
            raw_norm_add(norm, dx, x, 2 * p->width, sums);
    }
}

static int run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct pool *p = op->priv;
    double *sums = op->workspace;
    float *coef = (float *)(sums + CHUNKS * 2 * p->n), *copies = coef + p->coef;
    struct raw_norm norm;

    (void)x;
    (void)e;
    raw_norm_init(&norm, op, coef);
#pragma omp parallel for schedule(static) num_threads(p->nthreads)
    for (size_t i = 0; i < CHUNKS; i++)
        run_chunk(op, &norm, i, copies + simd_thread() * p->copies, sums + i * 2 * p->n);
    if (op->out[OP_OUT_SUMS])
        raw_norm_write(&norm, sums, CHUNKS, op->out[OP_OUT_SUMS]);
    return 0;
}

const struct kernel simd_max_pool2d_norm = {
    .kind = &max_pool2d_kind, .supports = supports, .prepare = prepare, .run = run_forward,
    .release = release, .must = OP_HAS_COEF};
const struct kernel simd_max_pool2d_norm_grad = {
    .kind = &max_pool2d_grad_kind, .supports = supports, .prepare = prepare, .run = run_grad,
    .release = release, .may = OP_GIVES_SUMS | OP_HAS_ADDED, .must = OP_HAS_COEF};
