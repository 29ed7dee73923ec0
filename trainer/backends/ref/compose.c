/* SPDX-License-Identifier: BSD-3-Clause */
/* Fused ops (core/op.h) as plain ops one after another: what is applied to the sources, the op
 * itself, what is applied to its result. For convolutions and max pooling; other fused ops, and a
 * ReLU before max pooling, have kernels of their own. The workspace holds the tensors in between,
 * and behind them the workspace of one plain kernel at a time. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include <math.h>

#include "trainer/backends/ref/chunks.h"

#define ALIGN 64
#define MAX_TENSORS 6
#define MAX_STEPS 10

struct plan {
    struct tensor tensors[MAX_TENSORS]; /* between the plain ops */
    struct op ops[MAX_STEPS];
    const struct kernel *kernels[MAX_STEPS];
    int ntensors, nsteps;
};

/* (x, scale_shift) -> max(0, scale x + shift) */
static int ref_compose_run_norm(struct op *op, struct exec *exec, struct err *e)
{
    const float *x = op->in[0]->data, *scale_shift = op->in[1]->data;
    size_t n = tensor_channels(op->in[0]);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < tensor_count(op->in[0]); i++) {
        float y = scale_shift[i % n] * x[i] + scale_shift[n + i % n];

        op->out[0]->data[i] = y > 0 ? y : 0;
    }
    return 0;
}

/* (g, x, coef) -> the norm's gradient (OP_NORM_GRAD_COEF). */
static int ref_compose_run_norm_grad(struct op *op, struct exec *exec, struct err *e)
{
    const float *g = op->in[0]->data, *x = op->in[1]->data, *k = op->in[2]->data;
    size_t n = tensor_channels(op->in[0]);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < tensor_count(op->in[0]); i++) {
        size_t c = i % n;
        float a = k[c] * x[i] + k[n + c] > 0 ? k[2 * n + c] * g[i] : 0;

        op->out[0]->data[i] = a + (k[3 * n + c] * x[i] + k[4 * n + c]);
    }
    return 0;
}

static int ref_compose_prepare_moments(struct op *op, struct err *e)
{
    op->workspace_size = chunks_workspace(tensor_channels(op->in[0])) * sizeof(double);
    return 0;
}

/* (y) -> the moments of y (OP_OUT_MOMENTS). */
static int ref_compose_run_moments(struct op *op, struct exec *exec, struct err *e)
{
    const struct tensor *y = op->in[0];
    float *moments = op->out[0]->data;
    double *sums = op->workspace, count = (double)tensor_pixels(y);
    size_t n = tensor_channels(y);

    chunks_sum(y->data, y->data, tensor_pixels(y), n, sums);
    for (size_t c = 0; c < n; c++) {
        double mean = sums[c] / count;

        moments[c] = (float)mean;
        moments[n + c] = (float)fmax(sums[n + c] / count - mean * mean, 0);
    }
    return 0;
}

/* (g, x, scale_shift) -> the sums for the norm's gradient (OP_OUT_SUMS). */
static int ref_compose_run_sums(struct op *op, struct exec *exec, struct err *e)
{
    const float *g = op->in[0]->data, *x = op->in[1]->data, *scale_shift = op->in[2]->data;
    size_t n = tensor_channels(op->in[0]);

#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < n; c++) {
        double sum = 0, product = 0;

        for (size_t i = c; i < tensor_count(op->in[0]); i += n)
            if (scale_shift[c] * x[i] + scale_shift[n + c] > 0) {
                sum += (double)g[i];
                product += (double)g[i] * (double)x[i];
            }
        op->out[0]->data[c] = (float)sum;
        op->out[0]->data[n + c] = (float)product;
    }
    return 0;
}

static const struct kernel norm = {.run = ref_compose_run_norm};
static const struct kernel norm_grad = {.run = ref_compose_run_norm_grad};
static const struct kernel sums = {.run = ref_compose_run_sums};
static const struct kernel moments = {
    .prepare = ref_compose_prepare_moments, .run = ref_compose_run_moments};

static void add(struct plan *p, const struct kernel *kernel, struct op op)
{
    op.kind = kernel->kind;
    p->kernels[p->nsteps] = kernel;
    p->ops[p->nsteps++] = op;
}

static struct tensor *between(struct plan *p, const struct tensor *t, int64_t n)
{
    struct tensor *mine = &p->tensors[p->ntensors++];

    *mine = (struct tensor){.shape = t->shape};
    mine->shape.dim[DIM_C] = n;
    return mine;
}

/* Returns x, or the result of its norm if scale_shift is not NULL. */
static struct tensor *ref_compose_add_norm(struct plan *p, struct tensor *x,
                                           struct tensor *scale_shift)
{
    if (!scale_shift)
        return x;
    struct tensor *y = between(p, x, x->shape.dim[DIM_C]);
    add(p, &norm, (struct op){.in = {x, scale_shift}, .out = {y}});
    return y;
}

static struct tensor *add_source(struct plan *p, const struct op *op, struct tensor *x)
{
    struct tensor *second = op->in[OP_SECOND], *whole;

    x = ref_compose_add_norm(p, x, op->in[OP_SCALE_SHIFT]);
    if (!second)
        return x;
    second = ref_compose_add_norm(p, second, op->in[OP_SECOND_SCALE_SHIFT]);
    whole = between(p, x, x->shape.dim[DIM_C] + second->shape.dim[DIM_C]);
    add(p, &ref_concat, (struct op){.in = {x, second}, .out = {whole}});
    return whole;
}

static struct tensor *add_gradient(struct plan *p, const struct op *op)
{
    struct tensor *const *in = op->in, *dy;

    if (!in[OP_NORM_GRAD_X])
        return in[0];
    dy = between(p, in[0], in[0]->shape.dim[DIM_C]);
    add(p, &norm_grad,
        (struct op){.in = {in[0], in[OP_NORM_GRAD_X], in[OP_NORM_GRAD_COEF]}, .out = {dy}});
    return dy;
}

/* Returns the source of a convolution: in[0], or the result of its producer. */
static struct tensor *add_front(struct plan *p, const struct op *op)
{
    struct tensor *const *in = op->in, *second = in[OP_SECOND], *w = in[OP_PRODUCER_W], *y;

    if (!w)
        return in[0];
    y = between(p, second ? second : in[0], w->shape.dim[second ? 1 : 0]);
    add(p, second ? &ref_conv_transpose2d : &ref_conv2d,
        (struct op){.attr.kernel = op->attr.kernel, .in = {in[0], w, in[OP_PRODUCER_B]},
                    .out = {y}});
    if (!second)
        add(p, &ref_relu, (struct op){.in = {y}, .out = {y}});
    return y;
}

static void plan_conv2d(struct plan *p, const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out;
    struct tensor *x = add_source(p, op, add_front(p, op)), *y = out[0];

    add(p, &ref_conv2d, (struct op){.attr = op->attr, .in = {x, in[1], in[2]}, .out = {y}});
    if (op->attr.relu)
        add(p, &ref_relu, (struct op){.in = {y}, .out = {y}});
    if (out[OP_OUT_POOLED])
        add(p, &ref_max_pool2d, (struct op){.in = {y}, .out = {out[OP_OUT_POOLED]}});
    if (out[OP_OUT_MOMENTS])
        add(p, &moments, (struct op){.in = {y}, .out = {out[OP_OUT_MOMENTS]}});
}

static void plan_conv_grad(struct plan *p, const struct op *op, const struct kernel *input,
                           const struct kernel *weights)
{
    struct tensor *const *in = op->in, *const *out = op->out, *second = out[OP_OUT_SECOND];
    struct tensor *dy = add_gradient(p, op), *dx = out[0];

    if (out[1])
        add(p, weights, (struct op){.attr = op->attr, .in = {dy, NULL, add_source(p, op, in[2])},
                                    .out = {NULL, out[1], out[2]}});
    if (second)
        dx = between(p, second, second->shape.dim[DIM_C] + out[0]->shape.dim[DIM_C]);
    if (dx)
        add(p, input, (struct op){.attr = op->attr, .in = {dy, in[1]}, .out = {dx}});
    if (second)
        add(p, &ref_concat_grad, (struct op){.in = {dx}, .out = {out[0], second}});
}

static void plan_pool_grad(struct plan *p, const struct op *op)
{
    struct tensor *const *in = op->in, *dx = op->out[0], *added = in[OP_ADDED];
    struct tensor *x = ref_compose_add_norm(p, in[1], in[OP_SCALE_SHIFT]);

    if (added)
        dx = between(p, added, added->shape.dim[DIM_C]);
    add(p, &ref_max_pool2d_grad, (struct op){.in = {in[0], x}, .out = {dx}});
    if (added)
        add(p, &ref_add, (struct op){.in = {added, dx}, .out = {op->out[0]}});
}

/* p must not move: its ops point into it. */
static void make_plan(struct plan *p, const struct op *op)
{
    struct tensor *const *in = op->in, *const *out = op->out;

    p->ntensors = p->nsteps = 0;
    if (op->kind == &conv2d_kind)
        plan_conv2d(p, op);
    else if (op->kind == &conv2d_grad_kind)
        plan_conv_grad(p, op, &ref_conv2d_grad_input, &ref_conv2d_grad_weights);
    else if (op->kind == &conv_transpose2d_grad_kind)
        plan_conv_grad(p, op, &ref_conv_transpose2d_grad_input, &ref_conv_transpose2d_grad_weights);
    else if (op->kind == &max_pool2d_grad_kind)
        plan_pool_grad(p, op);
    else
        add(p, op->kind == &max_pool2d_kind ? &ref_max_pool2d : &ref_conv_transpose2d,
            (struct op){.in = {ref_compose_add_norm(p, in[0], in[OP_SCALE_SHIFT]), in[1], in[2]},
                        .out = {out[0]}});
    if (out[OP_OUT_SUMS])
        add(p, &sums, (struct op){.in = {out[0], in[op->kind->source], in[OP_SCALE_SHIFT]},
                                  .out = {out[OP_OUT_SUMS]}});
}

static size_t size_of(const struct tensor *t)
{
    return (tensor_count(t) * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

static int ref_compose_prepare(struct op *op, struct err *e)
{
    struct plan p;
    size_t most = 0;

    make_plan(&p, op);
    for (int i = 0; i < p.nsteps; i++) {
        if (p.kernels[i]->prepare && p.kernels[i]->prepare(&p.ops[i], e) < 0)
            return -1;
        most = p.ops[i].workspace_size > most ? p.ops[i].workspace_size : most;
    }
    op->workspace_size = most;
    for (int i = 0; i < p.ntensors; i++)
        op->workspace_size += size_of(&p.tensors[i]);
    return 0;
}

static int ref_compose_run(struct op *op, struct exec *x, struct err *e)
{
    char *memory = op->workspace;
    struct plan p;

    make_plan(&p, op);
    for (int i = 0; i < p.ntensors; i++) {
        p.tensors[i].bytes = memory;
        memory += size_of(&p.tensors[i]);
    }
    for (int i = 0; i < p.nsteps; i++) {
        p.ops[i].workspace = memory;
        if (p.kernels[i]->run(&p.ops[i], x, e) < 0)
            return -1;
    }
    return 0;
}

#define COMPOSED(name, forms)                                                                      \
    const struct kernel ref_composed_##name = {                                                    \
        .kind = &name##_kind, .prepare = ref_compose_prepare, .run = ref_compose_run,              \
        .accepts = forms}

COMPOSED(conv2d, OP_NO_BIAS | OP_HAS_SECOND | OP_HAS_SCALE_SHIFT | OP_HAS_SECOND_SCALE_SHIFT |
                     OP_HAS_PRODUCER | OP_RELU | OP_GIVES_POOLED | OP_GIVES_MOMENTS);
COMPOSED(conv2d_grad, OP_NO_BIAS | OP_INPUT_ONLY | OP_WEIGHTS_ONLY | OP_HAS_SECOND |
                          OP_HAS_SCALE_SHIFT |
                          OP_HAS_SECOND_SCALE_SHIFT | OP_HAS_NORM_GRAD | OP_GIVES_SUMS);
COMPOSED(conv_transpose2d, OP_HAS_SCALE_SHIFT);
COMPOSED(conv_transpose2d_grad, OP_WEIGHTS_ONLY | OP_HAS_SCALE_SHIFT | OP_GIVES_SUMS);
COMPOSED(max_pool2d, OP_HAS_SCALE_SHIFT);
COMPOSED(max_pool2d_grad, OP_HAS_SCALE_SHIFT | OP_HAS_ADDED | OP_GIVES_SUMS);
