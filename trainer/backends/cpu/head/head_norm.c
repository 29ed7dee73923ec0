/* SPDX-License-Identifier: BSD-3-Clause */
/* A batch norm with its ReLU, and the head behind it: the tensor in between is neither written nor kept. The
 * gradient makes it again, a block of pixels at a time; what the norm's gradient needs of the same block is
 * summed while it is in the cache. */
#include "config.h"
#include "trainer/backends/cpu/head/head.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/backends/cpu/head/head_kernels.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/norm/batch_norm.h"
#include "trainer/backends/cpu/norm/norm_kernels.h"
#include "trainer/backends/ref/chunks.h"

#define ALIGN 64
#define MAX_STEP 16 /* numbers of a norm's rows with fewer channels than lanes */

/* op->priv */
struct head_norm {
    struct op norm;
    size_t npixels, n, nthreads;
    size_t head_sums, norm_sums; /* doubles of a chunk's */
    size_t copy;                 /* bytes of a block that went through the norm */
};

/* (x, gamma, beta, w, running mean, running var, b) -> y, saved. The norm's result has the shape
 * of x, and
 * nobody reads what it holds: x stands for it. */
static struct op norm_forward(const struct op *op)
{
    struct tensor *const *in = op->in;

    struct op norm = {.kind = &batch_norm_kind, .attr = op->attr,
                      .in = {in[0], in[1], in[2], in[4], in[5], [OP_MOMENTS] = in[OP_MOMENTS]},
                       .out = {in[0], op->out[1]}};

    norm.attr.relu = true;
    return norm;
}

/* (dy, x, gamma, saved, beta, w) -> dx, dgamma, dbeta, dw, db. dx holds the gradient of what the norm gave
 * until that of the norm takes its place, if it is not left to who reads it. */
static struct op norm_grad(const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out, *coef = op->out[OP_OUT_COEF];

    struct op norm = {.kind = &batch_norm_grad_kind, .attr = op->attr,
                      .in = {out[0], in[1], in[2], in[3], in[4]},
                       .out = {coef ? coef : out[0], out[1], out[2]}};

    norm.attr.relu = true;
    norm.attr.coef = coef != NULL;
    return norm;
}

static bool supports_forward(const struct op *op)
{
    struct op norm = norm_forward(op);

    return head_rows_of(op, op->in[0], op->out[0]) == &head_rows_float &&
           simd_batch_norm.supports(&norm);
}

static bool supports_grad(const struct op *op)
{
    struct op norm = norm_grad(op);

    return head_rows_of(op, op->in[1], op->in[0]) == &head_rows_float &&
           op->out[0]->dtype == DTYPE_F32 && simd_batch_norm_grad.supports(&norm);
}

static size_t round_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static bool is_forward(const struct op *op)
{
    return op->kind == &batch_norm_relu_conv2d_kind;
}

static const struct kernel *norm_kernel(const struct op *op)
{
    return is_forward(op) ? &simd_batch_norm : &simd_batch_norm_grad;
}

static int prepare(struct op *op, struct err *e)
{
    const struct tensor *x = op->in[is_forward(op) ? 0 : 1];
    struct head_norm *h = calloc(1, sizeof *h);

    if (!h)
        return err_set(e, ERR_INTERNAL, "out of memory");
    h->norm = is_forward(op) ? norm_forward(op) : norm_grad(op);
    if (norm_kernel(op)->prepare(&h->norm, e) < 0) {
        free(h);
        return -1;
    }
    h->npixels = tensor_pixels(x);
    h->n = tensor_channels(x);
    h->nthreads = simd_threads();
    h->head_sums = is_forward(op) ? 0 : h->n + 1;
    h->norm_sums = is_forward(op) ? 0 : 2 * h->n;
    h->copy = round_up((HEAD_BLOCK + 1) * h->n * sizeof(float) + MAX_STEP * sizeof(float));
    op->workspace_size = round_up(h->norm.workspace_size) +
                         round_up(CHUNKS * (h->head_sums + h->norm_sums) * sizeof(double)) +
                         h->nthreads * h->copy;
    op->priv = h;
    return 0;
}

static void release(struct op *op)
{
    struct head_norm *h = op->priv;

    norm_kernel(op)->release(&h->norm);
    free(h);
}

/* Of one run; the workspace in its order. */
struct pass {
    struct head_norm *h;
    struct batch_norm_map map;
    double *head, *norm; /* [CHUNKS][..] */
    char *copies;
};

static struct pass pass_of(struct op *op)
{
    struct head_norm *h = op->priv;
    struct pass p = {.h = h};

    h->norm.workspace = op->workspace;
    p.head = (double *)(void *)((char *)op->workspace + round_up(h->norm.workspace_size));
    p.norm = p.head + CHUNKS * h->head_sums;
    p.copies = (char *)p.head + round_up(CHUNKS * (h->head_sums + h->norm_sums) * sizeof(double));
    return p;
}

/* npixels of x through the norm and its ReLU; what is no whole step is filled up with zeros before. */
static const float *normalise(const struct pass *p, const float *x, size_t npixels)
{
    float *copy = (float *)(void *)(p->copies + simd_thread() * p->h->copy);
    size_t n = npixels * p->h->n, step = p->map.step, whole = n / step * step;

    batch_norm_apply(&p->map, x, whole, copy);
    if (whole < n) {
        memset(copy + whole, 0, step * sizeof *copy);
        memcpy(copy + whole, x + whole, (n - whole) * sizeof *copy);
        batch_norm_apply(&p->map, copy + whole, step, copy + whole);
    }
    return copy;
}

static int run_forward(struct op *op, struct exec *x, struct err *e)
{
    struct pass p = pass_of(op);
    const float *src = op->in[0]->data, *w = op->in[3]->data, bias = op->in[6]->data[0];
    size_t n = p.h->n;

    if (batch_norm_statistics(&p.h->norm, x, &p.map, e) < 0)
        return -1;
#pragma omp parallel for schedule(static) num_threads(p.h->nthreads)
    for (size_t i = 0; i < p.h->npixels; i += HEAD_BLOCK) {
        size_t count = head_block(i, p.h->npixels);

        head_rows_float.dot(normalise(&p, src + i * n, count), count, w, n, bias, op->out[0]->data + i);
    }
    return 0;
}

static void sum_chunk(const struct pass *p, const struct op *op, size_t i)
{
    const struct head_norm *h = p->h;
    const float *dy = op->in[0]->data, *x = op->in[1]->data, *w = op->in[5]->data;
    double *head = p->head + i * h->head_sums, *norm = p->norm + i * h->norm_sums;
    size_t end = chunk_begin(h->npixels, i + 1);
    float *dx = op->out[0]->data;

    memset(head, 0, h->head_sums * sizeof *head);
    memset(norm, 0, h->norm_sums * sizeof *norm);
    for (size_t k = chunk_begin(h->npixels, i); k < end; k += HEAD_BLOCK) {
        size_t count = head_block(k, end), at = k * h->n;

        head_add(&head_rows_float, dy + k, normalise(p, x + at, count), count, h->n, head);
        head_rows_float.spread(dy + k, count, w, h->n, dx + at);
        batch_norm_grad_add(&h->norm, dx + at, x + at, count, norm);
    }
}

static int run_grad(struct op *op, struct exec *x, struct err *e)
{
    struct pass p = pass_of(op);

    batch_norm_grad_again(&p.h->norm, &p.map);
#pragma omp parallel for schedule(static) num_threads(p.h->nthreads)
    for (size_t i = 0; i < CHUNKS; i++)
        sum_chunk(&p, op, i);
    head_finish(p.head, p.h->n, op->out[3]->data, op->out[4]->data);
    return batch_norm_grad_finish(&p.h->norm, x, p.norm, CHUNKS, e);
}

const struct kernel simd_head_norm = {
    .kind = &batch_norm_relu_conv2d_kind, .supports = supports_forward, .prepare = prepare,
    .run = run_forward, .release = release, .may = OP_TAKES_MOMENTS};
const struct kernel simd_head_norm_grad = {
    .kind = &batch_norm_relu_conv2d_grad_kind, .supports = supports_grad, .prepare = prepare,
    .run = run_grad, .release = release, .may = OP_GIVES_COEF};
