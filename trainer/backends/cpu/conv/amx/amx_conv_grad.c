/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a 3x3 convolution of bf16 by AMX tiles in one pass. Rows of the result's
 * gradient (after a deferred norm gradient, if there is one: core/op.h) are read once: they are the
 * source of the convolution that gives the input's gradient, and with the rows of x the factors of
 * the product that gives the weights'. The sums for a norm in front of the convolution
 * (norm_prologue.h) are added up while its operands are in the cache. The work is cut into bands of
 * rows, and a chunk of bands has sums of its own (amx_conv_weights.c). */
#include "config.h"
#include "trainer/backends/cpu/conv/amx/amx_conv.h"

#include <string.h>

#include "trainer/backends/cpu/conv/amx/amx_conv_weights.h"
#include "trainer/backends/cpu/conv/amx/amx_kernels.h"
#include "trainer/backends/cpu/conv/conv_rows.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/cpu/norm/norm_grad_rows.h"
#include "trainer/backends/cpu/norm/norm_prologue.h"

#define BORDER AMX_CONV_BORDER
#define LINE AMX_ROWS_LINE
#define SHARE (1 << 18) /* bf16 values that a band of source and gradient may take, in the form that
                         * the weights' gradient reads */

/* op->priv */
struct amx_conv_grad {
    struct op input, weights; /* the two gradients as ops of their own */
    struct amx_conv in;
    struct amx_conv_weights w;
    size_t norm_size; /* doubles of one chunk's sums for the norm in front */
};

static bool amx_conv_grad_supports(const struct op *op)
{
    struct op input = conv_operands_input_grad(op), weights = conv_operands_weights_grad(op);

    return norm_grad_rows_supports(op, DTYPE_BF16) && norm_prologue_supports(op, DTYPE_BF16) &&
           !(op->in[OP_COEF] && op->in[OP_SECOND]) && (!op->out[OP_OUT_SUMS] || op->in[OP_COEF]) &&
           simd_amx_conv_grad_input.supports(&input) &&
           simd_amx_conv_grad_weights.supports(&weights);
}

/* The pointers into the workspace during one run. */
struct amx_conv_grad_workspace {
    const struct amx_conv_grad *b;
    struct conv_operands in, w;
    struct norm_prologue norm;
    struct norm_grad_rows dy;
    double *norm_sums;
    float *grad_coef, *coef, *no_bias, *sums, *results;
    uint16_t *packed, *rooms;
};

static struct amx_conv_grad_workspace amx_conv_grad_workspace_of(const struct op *op,
                                                                 const struct amx_conv_grad *b,
                                                                 struct simd_workspace *w)
{
    return (struct amx_conv_grad_workspace){
        .b = b,
        .in = conv_operands_of(&b->input),
        .w = conv_operands_of(&b->weights),
        .norm_sums = simd_take(w, b->w.nchunks * b->norm_size, sizeof(double)),
        .grad_coef = simd_take(w, norm_grad_rows_size(op), sizeof(float)),
        .coef = simd_take(w, norm_prologue_size(op), sizeof(float)),
        .no_bias = simd_take(w, b->in.bias, sizeof(float)),
        .sums = simd_take(w, b->w.nchunks * b->w.nsums, sizeof(float)),
        .results = simd_take(w, b->in.nthreads * b->in.results, sizeof(float)),
        .packed = simd_take(w, b->in.packed, sizeof(uint16_t)),
        .rooms = simd_take(w, b->in.nthreads * (b->in.source + b->w.room), sizeof(uint16_t)),
    };
}

static int amx_conv_grad_prepare(struct op *op, struct err *e)
{
    struct amx_conv_grad b = {.input = conv_operands_input_grad(op),
                              .weights = conv_operands_weights_grad(op)};
    struct conv_operands in = conv_operands_of(&b.input), w = conv_operands_of(&b.weights);
    struct simd_workspace workspace = {0};

    b.w = amx_conv_weights_of(&w, SHARE);
    b.in = amx_conv_of(&in, b.w.band);
    b.norm_size = op->out[OP_OUT_SUMS] ? 2 * b.w.ns : 0;
    amx_conv_grad_workspace_of(op, &b, &workspace);
    op->workspace_size = workspace.size;
    return simd_keep(op, &b, sizeof b, e);
}

/* Reads the gradient's rows from the one before the band to the one after it, each behind a pixel
 * of zeros. */
static void amx_conv_grad_read_gradient(const struct amx_conv_grad_workspace *p,
                                        const struct amx_conv_band *band, uint16_t *gradient)
{
    const struct amx_conv *c = &p->b->in;
    size_t line = c->width * c->ns, rest = (c->pitch - 1) * c->ns - line;

    for (size_t i = 0; i < band->nlines + BORDER; i++, gradient += c->pitch * c->ns) {
        size_t y = band->from + i - 1; /* -1 wraps to a large number, too */

        if (y >= c->height) {
            memset(gradient, 0, c->pitch * c->ns * sizeof *gradient);
            continue;
        }
        memset(gradient, 0, c->ns * sizeof *gradient);
        norm_grad_rows_copy(&p->dy, (band->image * c->height + y) * line, line, gradient + c->ns);
        memset(gradient + c->ns + line, 0, rest * sizeof *gradient);
    }
}

static void run_band(const struct amx_conv_grad_workspace *p, size_t task,
                     float *sums, double *norm_sums)
{
    const struct amx_conv_grad *b = p->b;
    const struct amx_conv *c = &b->in;
    size_t thread = simd_thread(), distance = c->pitch * c->ns;
    uint16_t *gradient = p->rooms + thread * (c->source + b->w.room);
    struct amx_conv_band band = amx_conv_weights_band(&b->w, task, gradient + c->source);
    size_t at = (band.image * c->height + band.from) * c->width * b->w.ns;

    amx_conv_grad_read_gradient(p, &band, gradient);
    c->tiles->begin(&c->shape);
    amx_conv_lines(c, p->in.dst, band.image, band.from, band.nlines, gradient, p->packed,
                   p->no_bias, p->results + thread * c->results);
    c->tiles->begin(&b->w.shape);
    if (b->norm_size)
        norm_prologue_add_sums(&p->norm, p->in.dst[0]->half + at, p->w.src[0]->half + at,
                               band.nlines * c->width, norm_sums);
    amx_conv_weights_add(&b->w, &p->w, &band, gradient + distance + c->ns, distance, sums);
}

static void amx_conv_grad_run_chunk(const struct amx_conv_grad_workspace *p, size_t i)
{
    const struct amx_conv_grad *b = p->b;
    float *sums = p->sums + i * b->w.nsums;
    double *norm_sums = p->norm_sums + i * b->norm_size;

    memset(sums, 0, b->w.nsums * sizeof *sums);
    memset(norm_sums, 0, b->norm_size * sizeof *norm_sums);
    for (size_t t = amx_conv_weights_first(&b->w, i); t < amx_conv_weights_first(&b->w, i + 1); t++)
        run_band(p, t, sums, norm_sums);
}

static int amx_conv_grad_run(struct op *op, struct exec *x, struct err *e)
{
    const struct amx_conv_grad *b = op->priv;
    struct amx_conv_grad_workspace p =
        amx_conv_grad_workspace_of(op, b, &(struct simd_workspace){op->workspace, 0});

    (void)x;
    (void)e;
    p.dy = norm_grad_rows_of(op, p.grad_coef);
    norm_prologue_init(&p.norm, op, p.coef);
    if (norm_prologue_coef(op))
        p.w.norm[0] = &p.norm.map;
    amx_conv_pack(&b->in, p.in.weights->data, true, p.packed);
    amx_conv_repeat(&b->in, NULL, p.no_bias);
#pragma omp parallel num_threads(b->w.nthreads)
    {
        b->w.tiles->begin(&b->w.shape);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < b->w.nchunks; i++)
            amx_conv_grad_run_chunk(&p, i);
        b->w.tiles->end();
        conv_rows_add(p.sums, b->w.nsums, b->w.nchunks);
    }
    amx_conv_weights_finish(&b->w, &p.w, p.sums);
    if (b->norm_size)
        norm_prologue_write_sums(&p.norm, p.norm_sums, b->w.nchunks, op->out[OP_OUT_SUMS]);
    return 0;
}

const struct kernel simd_amx_conv_grad = {
    .kind = &conv2d_grad_kind, .supports = amx_conv_grad_supports,
    .prepare = amx_conv_grad_prepare, .run = amx_conv_grad_run, .release = simd_release,
    .types = KERNEL_HALVES,
    .may = OP_NO_BIAS | OP_HAS_NORM_GRAD | OP_HAS_SECOND | OP_HAS_COEF | OP_GIVES_SUMS};
