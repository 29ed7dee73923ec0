/* SPDX-License-Identifier: BSD-3-Clause */
/* A convolution and a norm behind it become fold_norm and a convolution, where fold_pair can do
 * so. */
#include "config.h"
#include "trainer/passes/fuse_fold.h"

/* Returns whether the backend has a kernel for conv with a bias and a ReLU. */
static bool takes_relu(const struct backend *backend, const struct op *conv, struct tensor *bias)
{
    struct op with = *conv;

    with.in[2] = bias;
    with.attr.no_bias = false;
    with.attr.relu = true;
    return backend_has_kernel(backend, &with);
}

/* conv2d (x, w, b) -> y, batch_norm_infer (y, gamma, ...) -> z becomes fold_norm (w, gamma, ...,
 * b) -> w', b', conv2d (x, w', b') -> z; b may be missing. Activations of 16 bits are excluded
 * where the backend's kernels fuse a ReLU with a norm but not with a convolution. */
static int fold_pair(struct graph *g, const struct backend *backend, struct op *conv,
                     struct op *norm, struct err *e)
{
    struct tensor *x = conv->in[0], *w = conv->in[1], *y = conv->out[0], *z = norm->out[0];
    struct op folded = {.kind = &fold_norm_kind, .attr = norm->attr,
                        .in = {w, norm->in[1], norm->in[2], norm->in[3], norm->in[4], conv->in[2]}};

    folded.attr.no_bias = conv->attr.no_bias;
    if (conv->kind != &conv2d_kind || norm->kind != &batch_norm_infer_kind ||
        norm->in[0] != y || !graph_is_private(g, conv, norm))
        return 0;
    if ((x->dtype != DTYPE_F32 || y->dtype != DTYPE_F32 || z->dtype != DTYPE_F32) &&
        !takes_relu(backend, conv, norm->in[2]))
        return 0;
    if (!backend_kernel(backend, &folded)) /* the fallback's kernel is enough: weights are few */
        return 0;
    folded.out[0] = graph_tensor(g, "folded_weight", w->shape, e);
    folded.out[1] = graph_tensor(g, "folded_bias", norm->in[1]->shape, e);
    if (!folded.out[0] || !folded.out[1])
        return -1;
    folded.out[0]->is_weight = true;
    folded.out[0]->pinned = folded.out[1]->pinned = true; /* as a kernel's begin may write them */
    *norm = (struct op){.kind = &conv2d_kind, .attr = conv->attr,
                        .in = {x, folded.out[0], folded.out[1]}, .out = {z}};
    norm->attr.no_bias = false;
    *conv = folded;
    return 0;
}

int fuse_fold_graph(struct graph *g, const struct backend *backend, struct err *e)
{
    for (size_t i = 0; i + 1 < g->nops; i++)
        if (fold_pair(g, backend, g->ops[i], g->ops[i + 1], e) < 0)
            return -1;
    return 0;
}
