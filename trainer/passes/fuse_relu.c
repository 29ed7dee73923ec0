/* SPDX-License-Identifier: BSD-3-Clause */
/* Each change is planned in a copy of an op, and made if the backend has a kernel for it. */
#include "config.h"
#include "trainer/passes/fuse_relu.h"

#include "trainer/passes/fuse_find.h"

static void fuse_conv_relu(struct graph *g, const struct backend *backend, size_t i)
{
    const struct op *conv = g->ops[i];
    bool fits = conv->kind == &conv2d_kind && !(op_form(conv) & ~(unsigned)OP_HAS_SECOND);
    struct op **relu = fits ? fuse_find_reader(g, &relu_kind, 0, conv->out[0]) : NULL;

    if (!relu || !graph_is_private(g, conv, *relu))
        return;
    struct op fused = *conv;
    fused.attr.relu = true;
    fused.out[0] = (*relu)->out[0];
    if (!backend_has_kernel(backend, &fused))
        return;
    **relu = fused;
    fuse_drop(&g->ops[i]);
}

static void fuse_conv_relu_pool(struct graph *g, const struct backend *backend, struct op *conv)
{
    struct op **pool = fuse_find_reader(g, &max_pool2d_kind, 0, conv->out[0]), fused = *conv;

    if (!pool)
        return;
    fused.out[OP_OUT_POOLED] = (*pool)->out[0];
    if (!backend_has_kernel(backend, &fused))
        return;
    *conv = fused;
    fuse_drop(pool);
}

/* Fuses conv with the op that writes its first input: if conv is fused with a pooling, with a
 * convolution with ReLU; if it has a second source and a ReLU, with a transposed convolution. */
static void fuse_producer(struct graph *g, const struct backend *backend, struct op *conv)
{
    bool up = conv->in[OP_SECOND] && conv->attr.relu;
    struct op **producer = NULL, fused = *conv;

    if (up || conv->out[OP_OUT_POOLED])
        producer = fuse_find_writer(g, up ? &conv_transpose2d_kind : &conv2d_kind, conv->in[0]);
    if (!producer || op_form(*producer) != (up ? 0 : OP_RELU) ||
        !graph_is_private(g, *producer, conv) ||
        (!up && (*producer)->attr.kernel != conv->attr.kernel) || (*producer)->attr.stride > 1 ||
        conv->attr.stride > 1)
        return; /* both convolutions use one op_attr */
    fused.in[0] = (*producer)->in[0];
    fused.in[OP_PRODUCER_W] = (*producer)->in[1];
    fused.in[OP_PRODUCER_B] = (*producer)->in[2];
    if (!backend_has_kernel(backend, &fused))
        return;
    *conv = fused;
    fuse_drop(producer);
}

static bool is_conv_relu(const struct op *op)
{
    return op->kind == &conv2d_kind && op_form(op) == OP_RELU;
}

void fuse_relu_graph(struct graph *g, const struct backend *backend)
{
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i])
            fuse_conv_relu(g, backend, i);
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i] && is_conv_relu(g->ops[i]))
            fuse_conv_relu_pool(g, backend, g->ops[i]);
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i])
            fuse_producer(g, backend, g->ops[i]);
}
