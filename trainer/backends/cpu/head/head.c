/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a network with one logit for each pixel: a 1x1 convolution with one output channel,
 * which is bound by memory, and its gradients. A batch norm and its ReLU in front of it
 * (norm_prologue.h) are applied to one block of pixels at a time, and the sums for the norm's
 * gradient are added up while the block is in the cache. */
#include "config.h"
#include "trainer/backends/cpu/head/head_kernels.h"

#include <string.h>

#include "trainer/backends/cpu/head/head_rows.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/norm/norm_prologue.h"
#include "trainer/backends/ref/chunks.h"

#define HEAD_BLOCK 256 /* pixels of a block; in it dy x is summed as floats, blocks as doubles */
#define HEAD_MAX_CHANNELS 256
#define LINE 16     /* floats of a cache line */
#define MAX_STEP 16 /* values of a step of the norm's loops (norm_rows_step), if there are fewer
                     * channels */

/* Returns whether the op, with activations x and logits y, is such a convolution, its number of
 * channels suits the loops of head_rows.h, and the processor has AVX2. */
static bool head_supports(const struct op *op, const struct tensor *x, const struct tensor *y)
{
    size_t n = tensor_channels(x);

#ifdef __x86_64__
    if (simd_isa() < SIMD_AVX2)
        return false;
#endif
    return op->attr.kernel == 1 && op->attr.stride <= 1 && tensor_channels(y) == 1 &&
           n % HEAD_ROWS_LANES == 0 && n <= HEAD_MAX_CHANNELS;
}

/* Returns the number of pixels of the block that begins with pixel `from` and ends at `to` or
 * before. */
static size_t head_block(size_t from, size_t to)
{
    return to - from < HEAD_BLOCK ? to - from : HEAD_BLOCK;
}

/* op->priv of the kernels that may have a norm in front. */
struct head {
    size_t npixels, n, nthreads;
    size_t coef, copy; /* floats of the coefficients; of a block of pixels after the norm */
};

/* Workspace: ndoubles doubles, coefficients, copies of each thread. */
static int head_keep(struct op *op, const struct tensor *x, size_t ndoubles, struct err *e)
{
    struct head h = {tensor_pixels(x), tensor_channels(x), simd_threads(), norm_prologue_size(op),
                     0};

    if (h.coef)
        h.copy = simd_round_up((HEAD_BLOCK + 1) * h.n + MAX_STEP, LINE);
    op->workspace_size = simd_round_up(ndoubles, LINE) * sizeof(double) +
                         (h.coef + h.nthreads * h.copy) * sizeof(float);
    return simd_keep(op, &h, sizeof h, e);
}

/* The pointers into the workspace during one run. */
struct head_workspace {
    const struct head *h;
    struct norm_prologue norm;
    double *sums, *norm_sums; /* [CHUNKS][n + 1]; [CHUNKS][2 n] */
    float *copies;
};

static struct head_workspace head_workspace_of(const struct op *op, size_t ndoubles)
{
    const struct head *h = op->priv;
    struct head_workspace p = {.h = h, .sums = op->workspace};

    p.norm_sums = p.sums + CHUNKS * (h->n + 1);
    p.copies = (float *)(p.sums + simd_round_up(ndoubles, LINE)) + h->coef;
    return p;
}

/* Returns npixels of x from pixel i on, after a norm in front if there is one. The last pixels, if
 * they are less than a step of the norm's loops, are padded with zeros. */
static const float *head_read_x(const struct head_workspace *p, const struct tensor *x, size_t i,
                                size_t npixels)
{
    const float *src = x->data + i * p->h->n;
    if (!p->h->coef)
        return src;
    float *copy = p->copies + simd_thread() * p->h->copy;
    size_t n = npixels * p->h->n, step = p->norm.map.step, whole = n / step * step;

    batch_norm_apply(&p->norm.map, src, whole, copy);
    if (whole < n) {
        memset(copy + whole, 0, step * sizeof *copy);
        memcpy(copy + whole, src + whole, (n - whole) * sizeof *copy);
        batch_norm_apply(&p->norm.map, copy + whole, step, copy + whole);
    }
    return copy;
}

static int head_prepare_forward(struct op *op, struct err *e)
{
    return head_keep(op, op->in[0], 0, e);
}

static int head_run_forward(struct op *op, struct exec *x, struct err *e)
{
    const struct head *h = op->priv;
    struct head_workspace p = head_workspace_of(op, 0);
    float bias = op->in[2] ? op->in[2]->data[0] : 0;

    (void)x;
    (void)e;
    norm_prologue_init(&p.norm, op, p.copies - h->coef);
#pragma omp parallel for schedule(static) num_threads(h->nthreads)
    for (size_t i = 0; i < h->npixels; i += HEAD_BLOCK) {
        size_t count = head_block(i, h->npixels);

        head_rows_dot(head_read_x(&p, op->in[0], i, count), count, op->in[1]->data, h->n, bias,
                      op->out[0]->data + i);
    }
    return 0;
}

static int head_run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    size_t npixels = tensor_pixels(op->in[0]), n = tensor_channels(op->out[0]);

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p += HEAD_BLOCK)
        head_rows_spread(op->in[0]->data + p, head_block(p, npixels), op->in[1]->data, n,
                         op->out[0]->data + p * n);
    return 0;
}

/* Adds sums over npixels, at most HEAD_BLOCK, to sums[channels + 1]: of dy x for each channel (dw),
 * then of dy (db). */
static void add(const float *dy, const float *x, size_t npixels, size_t n, double *sums)
{
    float part[HEAD_MAX_CHANNELS];

    head_rows_gather(dy, x, npixels, n, part);
    for (size_t c = 0; c < n; c++)
        sums[c] += (double)part[c];
    for (size_t i = 0; i < npixels; i++)
        sums[n] += (double)dy[i];
}

/* Adds up sums[CHUNKS][channels + 1] and writes dw and db. */
static void head_finish(double *sums, size_t n, float *dw, float *db)
{
    for (size_t i = 1; i < CHUNKS; i++)
        for (size_t c = 0; c <= n; c++)
            sums[c] += sums[i * (n + 1) + c];
    for (size_t c = 0; c < n; c++)
        dw[c] = (float)sums[c];
    *db = (float)sums[n];
}

/* Adds up one chunk, and writes its pixels of dx and the sums for a norm in front, if op has
 * these. */
static void head_run_chunk(const struct head_workspace *p, const struct op *op, size_t i)
{
    const struct tensor *x = op->in[2], *dx = op->out[0];
    const float *dy = op->in[0]->data;
    size_t n = p->h->n, end = chunk_begin(p->h->npixels, i + 1);
    double *sums = p->sums + i * (n + 1), *norm_sums = p->norm_sums + i * 2 * n;

    memset(sums, 0, (n + 1) * sizeof *sums);
    if (op->out[OP_OUT_SUMS])
        memset(norm_sums, 0, 2 * n * sizeof *norm_sums);
    for (size_t k = chunk_begin(p->h->npixels, i); k < end; k += HEAD_BLOCK) {
        size_t count = head_block(k, end);

        add(dy + k, head_read_x(p, x, k, count), count, n, sums);
        if (dx)
            head_rows_spread(dy + k, count, op->in[1]->data, n, dx->data + k * n);
        if (op->out[OP_OUT_SUMS])
            norm_prologue_add_sums(&p->norm, dx->data + k * n, x->data + k * n, count, norm_sums);
    }
}

/* Returns the number of doubles: the sums of all chunks, then those for a norm. */
static size_t head_count_doubles(const struct op *op)
{
    size_t n = tensor_channels(op->in[2]);

    return CHUNKS * (n + 1 + (op->out[OP_OUT_SUMS] ? 2 * n : 0));
}

static int head_prepare_grads(struct op *op, struct err *e)
{
    return head_keep(op, op->in[2], head_count_doubles(op), e);
}

/* Computes both gradients, or only those of weights and bias. */
static int head_run_grads(struct op *op, struct exec *x, struct err *e)
{
    const struct head *h = op->priv;
    struct head_workspace p = head_workspace_of(op, head_count_doubles(op));

    (void)x;
    (void)e;
    norm_prologue_init(&p.norm, op, p.copies - h->coef);
#pragma omp parallel for schedule(static) num_threads(h->nthreads)
    for (size_t i = 0; i < CHUNKS; i++)
        head_run_chunk(&p, op, i);
    head_finish(p.sums, h->n, op->out[1]->data, op->out[2]->data);
    if (op->out[OP_OUT_SUMS])
        norm_prologue_write_sums(&p.norm, p.norm_sums, CHUNKS, op->out[OP_OUT_SUMS]);
    return 0;
}

/* Returns whether there is no norm in front, or one that suits the loops. */
static bool head_supports_norm(const struct op *op, const struct tensor *x)
{
    return !norm_prologue_coef(op) || norm_rows_best(tensor_channels(x));
}

static bool head_supports_forward(const struct op *op)
{
    return head_supports(op, op->in[0], op->out[0]) && head_supports_norm(op, op->in[0]);
}

static bool head_supports_grad_input(const struct op *op)
{
    return head_supports(op, op->out[0], op->in[0]);
}

static bool head_supports_grads(const struct op *op)
{
    return head_supports(op, op->in[2], op->in[0]) && head_supports_norm(op, op->in[2]) &&
           (!op->out[OP_OUT_SUMS] || op->in[OP_COEF]);
}

const struct kernel simd_head = {
    .kind = &conv2d_kind, .supports = head_supports_forward, .prepare = head_prepare_forward,
    .run = head_run_forward, .release = simd_release, .may = OP_HAS_COEF};
const struct kernel simd_head_grad = {
    .kind = &conv2d_grad_kind, .supports = head_supports_grads, .prepare = head_prepare_grads,
    .run = head_run_grads, .release = simd_release, .may = OP_HAS_COEF | OP_GIVES_SUMS};
const struct kernel simd_head_grad_input = {
    .kind = &conv2d_grad_kind, .supports = head_supports_grad_input, .run = head_run_grad_input,
    .must = OP_INPUT_ONLY};
const struct kernel simd_head_grad_weights = {
    .kind = &conv2d_grad_kind, .supports = head_supports_grads, .prepare = head_prepare_grads,
    .run = head_run_grads, .release = simd_release, .must = OP_WEIGHTS_ONLY};
