/* SPDX-License-Identifier: BSD-3-Clause */
/* A batch norm with its ReLU, and the 3x3 convolution behind it: the tensor between is neither written nor
 * kept. The gradient of the weights applies the norm again; that of the input goes to where the norm's will be. */
#include "config.h"
#include "trainer/backends/cpu/conv/winograd/winograd.h"

#include <stdlib.h>

#include "trainer/backends/cpu/conv/conv_parts.h"
#include "trainer/backends/cpu/conv/winograd/winograd_kernels.h"
#include "trainer/backends/cpu/norm/norm_kernels.h"

#define ALIGN 64

/* op->priv: the ops that it stands for. The norm's workspace comes first, the others share what is behind. */
struct parts {
    struct op norm;
    struct op conv;  /* or its gradient of the weights */
    struct op input; /* only of the gradient */
};

static bool is_forward(const struct op *op)
{
    return op->kind == &batch_norm_relu_conv2d_kind;
}

static struct parts split_forward(const struct op *op)
{
    struct conv_parts p = conv_parts_forward(op);

    return (struct parts){.norm = p.norm, .conv = p.conv};
}

static struct parts split_grad(const struct op *op)
{
    struct conv_parts p = conv_parts_grad(op);

    return (struct parts){.norm = p.norm, .conv = p.weights, .input = p.input};
}

static bool supports_forward(const struct op *op)
{
    struct parts p = split_forward(op);

    return simd_batch_norm.supports(&p.norm) && simd_winograd.supports(&p.conv);
}

static bool supports_grad(const struct op *op)
{
    struct parts p = split_grad(op);

    return simd_batch_norm_grad.supports(&p.norm) && simd_winograd_grad_weights.supports(&p.conv) &&
           simd_winograd_grad_input.supports(&p.input);
}

static size_t round_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static void release(struct op *op)
{
    struct parts *p = op->priv;

    if (p->norm.priv)
        simd_batch_norm.release(&p->norm);
    if (p->conv.priv)
        simd_winograd.release(&p->conv);
    if (p->input.priv)
        simd_winograd_grad_input.release(&p->input);
    free(p);
}

static int prepare_parts(struct op *op, struct parts *p, struct err *e)
{
    bool forward = is_forward(op);
    size_t most;

    *p = forward ? split_forward(op) : split_grad(op);
    if (forward ? simd_batch_norm.prepare(&p->norm, e) || winograd_conv_prepare_normed(&p->conv, e)
                : simd_batch_norm_grad.prepare(&p->norm, e) ||
                      winograd_weights_prepare_normed(&p->conv, e) ||
                      simd_winograd_grad_input.prepare(&p->input, e))
        return -1;
    most = p->conv.workspace_size > p->input.workspace_size ? p->conv.workspace_size
                                                            : p->input.workspace_size;
    op->workspace_size = round_up(p->norm.workspace_size) + most;
    return 0;
}

static int prepare(struct op *op, struct err *e)
{
    op->priv = calloc(1, sizeof(struct parts));
    if (!op->priv)
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (prepare_parts(op, op->priv, e) == 0)
        return 0;
    release(op);
    op->priv = NULL;
    return -1;
}

static struct parts *parts_of(const struct op *op)
{
    struct parts *p = op->priv;

    p->norm.workspace = op->workspace;
    p->conv.workspace = p->input.workspace =
        (char *)op->workspace + round_up(p->norm.workspace_size);
    return p;
}

static int run_forward(struct op *op, struct exec *x, struct err *e)
{
    struct parts *p = parts_of(op);
    struct batch_norm_map map;

    if (batch_norm_statistics(&p->norm, x, &map, e) < 0)
        return -1;
    winograd_conv_run_normed(&p->conv, &map);
    return 0;
}

static int run_grad(struct op *op, struct exec *x, struct err *e)
{
    struct parts *p = parts_of(op);
    struct batch_norm_map map;

    batch_norm_grad_again(&p->norm, &map);
    winograd_weights_run_normed(&p->conv, 0, &map);
    if (simd_winograd_grad_input.run(&p->input, x, e) < 0)
        return -1;
    return simd_batch_norm_grad.run(&p->norm, x, e);
}

#define KERNEL_OF(_kind, direction)                                                               \
    .kind = &_kind, .supports = supports_##direction, .prepare = prepare, .run = run_##direction, \
        .release = release

const struct kernel simd_winograd_norm = {KERNEL_OF(batch_norm_relu_conv2d_kind, forward),
                                          .may = OP_BARE | OP_GIVES_MOMENTS | OP_TAKES_MOMENTS};
const struct kernel simd_winograd_norm_grad = {KERNEL_OF(batch_norm_relu_conv2d_grad_kind, grad),
                                               .may = OP_BARE};
