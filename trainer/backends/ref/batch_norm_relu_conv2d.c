/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensor between norm and convolution, its gradient, and that of a norm behind them, lie in the
 * workspace, and behind them what their kernels need. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include "trainer/backends/ref/late.h"

#define ALIGN 64

/* The ops that it stands for, in the order in which they run. */
#define MOST_STEPS 3
struct steps {
    struct tensor normed, gradient, late;
    struct op op[MOST_STEPS];
    const struct kernel *kernel[MOST_STEPS];
    int n;
};

static void add(struct steps *s, const struct op *op, const struct kernel *kernel)
{
    s->op[s->n] = (struct op){.kind = kernel->kind, .attr = op->attr};
    s->kernel[s->n++] = kernel;
}

static bool is_forward(const struct op *op)
{
    return op->kind == &batch_norm_relu_conv2d_kind;
}

static void split_forward(const struct op *op, struct steps *s)
{
    struct tensor *const *in = op->in;

    add(s, op, &ref_batch_norm);
    s->op[0].attr.relu = true;
    for (int i = 0; i < 5; i++)
        s->op[0].in[i] = in[i < 3 ? i : i + 1];
    s->op[0].in[OP_MOMENTS] = in[OP_MOMENTS];
    s->op[0].out[0] = &s->normed, s->op[0].out[1] = op->out[1];
    add(s, op, &ref_conv2d);
    s->op[1].in[0] = &s->normed, s->op[1].in[1] = in[3], s->op[1].in[2] = in[6];
    s->op[1].out[0] = op->out[0], s->op[1].out[OP_OUT_MOMENTS] = op->out[OP_OUT_MOMENTS];
}

/* (dy, x, gamma, saved, beta, w) -> dx, dgamma, dbeta, dw, and db */
static void split_grad(const struct op *op, struct steps *s)
{
    struct tensor *const *in = op->in, *const *out = op->out, *coef = op->out[OP_OUT_COEF];
    struct tensor *dy = in[OP_LATE_X] ? &s->late : in[0];

    add(s, op, &ref_conv2d_grad_weights);
    s->op[0].in[0] = dy, s->op[0].in[1] = &s->normed;
    s->op[0].out[0] = out[3], s->op[0].out[1] = out[4];
    add(s, op, &ref_conv2d_grad_input);
    s->op[1].in[0] = dy, s->op[1].in[1] = in[5];
    s->op[1].out[0] = coef ? out[0] : &s->gradient;
    add(s, op, coef ? &ref_batch_norm_grad_coef : &ref_batch_norm_grad);
    s->op[2].attr.relu = true;
    s->op[2].in[0] = s->op[1].out[0];
    for (int i = 1; i < 5; i++)
        s->op[2].in[i] = in[i];
    for (int i = 0; i < 3; i++)
        s->op[2].out[i] = i == 0 && coef ? coef : out[i];
}

/* s stays where it is: its ops point into it. */
static void split(const struct op *op, struct steps *s)
{
    bool forward = is_forward(op);

    s->n = 0;
    s->normed = s->gradient = *op->in[forward ? 0 : 1];
    s->late = *op->in[0];
    (forward ? split_forward : split_grad)(op, s);
}

static size_t tensor_size(const struct steps *s)
{
    return (tensor_count(&s->normed) * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Of all three. */
static size_t tensors_size(const struct op *op, const struct steps *s)
{
    return 2 * tensor_size(s) + (is_forward(op) ? 0 : late_size(op));
}

/* The steps use the same memory one after the other, behind the tensors. */
static int prepare(struct op *op, struct err *e)
{
    struct steps s;
    size_t most = 0;

    split(op, &s);
    for (int i = 0; i < s.n; i++) {
        if (s.kernel[i]->prepare && s.kernel[i]->prepare(&s.op[i], e) < 0)
            return -1;
        most = s.op[i].workspace_size > most ? s.op[i].workspace_size : most;
    }
    op->workspace_size = tensors_size(op, &s) + most;
    return 0;
}

/* What the forward pass has made of x, from what it saved. */
static void norm_again(const struct op *op, float *dst)
{
    const float *x = op->in[1]->data, *gamma = op->in[2]->data, *beta = op->in[4]->data;
    const float *mean = op->in[3]->data;
    size_t n = tensor_channels(op->in[1]);

    for (size_t i = 0; i < tensor_count(op->in[1]); i++) {
        size_t c = i % n;
        float a = gamma[c] * mean[n + c], y = a * x[i] + (beta[c] - mean[c] * a);

        dst[i] = y > 0 ? y : 0;
    }
}

static int run(struct op *op, struct exec *x, struct err *e)
{
    struct steps s;

    split(op, &s);
    s.normed.data = op->workspace;
    s.gradient.data = (float *)((char *)op->workspace + tensor_size(&s));
    if (!is_forward(op)) {
        norm_again(op, s.normed.data);
        (void)late_gradient(op, &s.late, (char *)op->workspace + 2 * tensor_size(&s));
    }
    for (int i = 0; i < s.n; i++) {
        s.op[i].workspace = (char *)op->workspace + tensors_size(op, &s);
        if (s.kernel[i]->run(&s.op[i], x, e) < 0)
            return -1;
    }
    return 0;
}

const struct kernel ref_batch_norm_relu_conv2d = {
    .kind = &batch_norm_relu_conv2d_kind, .prepare = prepare, .run = run,
    .may = OP_BARE | OP_GIVES_MOMENTS | OP_TAKES_MOMENTS};
const struct kernel ref_batch_norm_relu_conv2d_grad = {
    .kind = &batch_norm_relu_conv2d_grad_kind, .prepare = prepare, .run = run,
    .may = OP_BARE | OP_TAKES_LATE | OP_GIVES_COEF};
