/* SPDX-License-Identifier: BSD-3-Clause */
/* Ops in the words of the convolutions of few channels. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_NARROW_OP_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_NARROW_OP_H

#include "trainer/backends/cuda/conv/narrow.h"
#include "trainer/core/op.h"

static inline unsigned narrow_op_channels(const struct tensor *t)
{
    return (unsigned)tensor_channels(t);
}

static inline struct narrow_field narrow_op_field(const struct tensor *t)
{
    return narrow_field((unsigned)t->shape.dim[DIM_N], (unsigned)t->shape.dim[DIM_H],
                        (unsigned)t->shape.dim[DIM_W]);
}

/* A source, which may come before its norm and ReLU (core/op.h), then with coef; NULL: it does
 * not. */
static inline struct narrow_part narrow_op_source(const struct tensor *x, const struct tensor *coef)
{
    struct narrow_part part = {.x = x->half, .channels = narrow_op_channels(x)};

    if (coef) {
        part.form = NARROW_NORM_RELU;
        part.coef = coef->data;
    }
    return part;
}

static inline bool narrow_op_is_3x3(const struct op *op)
{
    return op->attr.kernel == 3 && op->attr.stride <= 1;
}

/* in[0] of a gradient's op, or what it makes of it (core/op.h). */
static inline struct narrow_part narrow_op_gradient(const struct op *op)
{
    const struct tensor *g = op->in[0], *x = op->in[OP_NORM_GRAD_X];
    struct narrow_part plain = {.x = g->half, .channels = narrow_op_channels(g)};
    struct narrow_part deferred = plain;

    if (!x)
        return plain;
    deferred.x = x->half;
    deferred.g = g->half;
    deferred.coef = op->in[OP_NORM_GRAD_COEF]->data;
    deferred.form = NARROW_NORM_GRAD;
    return deferred;
}

#endif
