/* SPDX-License-Identifier: BSD-3-Clause */
/* Ops with an input that is read before its norm and ReLU (core/op.h): what these make of it lies in the
 * workspace, and the kernel of the op without that takes it from there. Then the sums, where it gives
 * any. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#define ALIGN 64

/* The op that stands behind the norm. */
struct plain {
    struct tensor normed;
    struct op op;
    const struct kernel *kernel;
};

static const struct kernel *kernel_of(const struct op_kind *kind)
{
    static const struct kernel *const kernels[] = {
        &ref_conv2d, &ref_conv2d_grad, &ref_conv2d_grad_weights,
        &ref_concat_conv2d_grad_weights,
        &ref_concat_conv2d, &ref_concat_conv2d_grad, &ref_conv_transpose2d,
        &ref_conv_transpose2d_grad, &ref_max_pool2d, &ref_max_pool2d_grad};
    size_t i = 0;

    while (kernels[i]->kind != kind)
        i++;
    return kernels[i];
}

/* Where the source is that goes through the norm: the first, or the one beside it. */
static int place_of(const struct op *op)
{
    return op_source(op) + (op->in[OP_COEF] ? 0 : 1);
}

static const struct tensor *coef_of(const struct op *op)
{
    return op->in[OP_COEF] ? op->in[OP_COEF] : op->in[OP_SECOND_COEF];
}

/* p stays where it is: its op points into it. */
static void split(const struct op *op, struct plain *p)
{
    *p = (struct plain){*op->in[place_of(op)], *op, kernel_of(op->kind)};
    p->op.in[place_of(op)] = &p->normed;
    p->op.in[OP_COEF] = p->op.in[OP_SECOND_COEF] = NULL;
    p->op.out[OP_OUT_SUMS] = NULL;
    p->op.workspace_size = 0;
}

static size_t normed_size(const struct plain *p)
{
    return (tensor_count(&p->normed) * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

static int prepare(struct op *op, struct err *e)
{
    struct plain p;

    split(op, &p);
    if (p.kernel->prepare && p.kernel->prepare(&p.op, e) < 0)
        return -1;
    op->workspace_size = normed_size(&p) + p.op.workspace_size;
    return 0;
}

static float norm(const float *coef, size_t nchannels, size_t c, float x)
{
    return coef[c] * x + coef[nchannels + c];
}

static void add_up(const struct op *op, float *sums)
{
    const struct tensor *x = op->in[place_of(op)];
    const float *g = op->out[0]->data, *coef = coef_of(op)->data;
    size_t n = tensor_channels(x);

#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < n; c++) {
        double sum = 0, product = 0;

        for (size_t i = c; i < tensor_count(x); i += n)
            if (norm(coef, n, c, x->data[i]) > 0) {
                sum += (double)g[i];
                product += (double)g[i] * (double)x->data[i];
            }
        sums[c] = (float)sum;
        sums[n + c] = (float)product;
    }
}

static int run(struct op *op, struct exec *exec, struct err *e)
{
    const struct tensor *x = op->in[place_of(op)];
    const float *coef = coef_of(op)->data;
    size_t n = tensor_channels(x);
    float *dst = op->workspace;
    struct plain p;

    split(op, &p);
    p.normed.data = dst;
    p.op.workspace = (char *)op->workspace + normed_size(&p);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < tensor_count(x); i++) {
        float y = norm(coef, n, i % n, x->data[i]);

        dst[i] = y > 0 ? y : 0;
    }
    if (p.kernel->run(&p.op, exec, e) < 0)
        return -1;
    if (op->out[OP_OUT_SUMS])
        add_up(op, op->out[OP_OUT_SUMS]->data);
    return 0;
}

#define KERNEL_OF(_kind, forms) {.kind = &_kind, .prepare = prepare, .run = run, .may = forms}
#define COEFS (OP_HAS_COEF | OP_HAS_SECOND_COEF)

const struct kernel ref_raw_conv2d =
    KERNEL_OF(conv2d_kind, OP_HAS_COEF | OP_BARE | OP_GIVES_MOMENTS);
const struct kernel ref_raw_conv2d_grad =
    KERNEL_OF(conv2d_grad_kind, OP_HAS_COEF | OP_BARE | OP_TAKES_LATE | OP_GIVES_SUMS);
const struct kernel ref_raw_conv2d_grad_weights =
    KERNEL_OF(conv2d_grad_weights_kind, OP_HAS_COEF | OP_BARE | OP_TAKES_LATE);
const struct kernel ref_raw_concat_conv2d_grad_weights =
    KERNEL_OF(concat_conv2d_grad_weights_kind, COEFS);
const struct kernel ref_raw_concat_conv2d = KERNEL_OF(concat_conv2d_kind, COEFS | OP_GIVES_MOMENTS);
const struct kernel ref_raw_concat_conv2d_grad = KERNEL_OF(concat_conv2d_grad_kind,
                                                           COEFS | OP_TAKES_LATE);
const struct kernel ref_raw_conv_transpose2d = KERNEL_OF(conv_transpose2d_kind, OP_HAS_COEF);
const struct kernel ref_raw_conv_transpose2d_grad =
    KERNEL_OF(conv_transpose2d_grad_kind, OP_HAS_COEF | OP_GIVES_SUMS);
const struct kernel ref_raw_max_pool2d = KERNEL_OF(max_pool2d_kind, OP_HAS_COEF);
const struct kernel ref_raw_max_pool2d_grad =
    KERNEL_OF(max_pool2d_grad_kind, OP_HAS_COEF | OP_HAS_ADDED | OP_GIVES_SUMS);
