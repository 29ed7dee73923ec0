/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors: row-major arrays of floats, or of 16-bit numbers. Activations are [n][h][w][c] (NHWC);
 * parameters have PyTorch's shapes (struct weights_entry). */
#ifndef UNETCTL_TRAINER_CORE_TENSOR_H
#define UNETCTL_TRAINER_CORE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/core/dtype.h"

#define TENSOR_MAX_NDIM 4
#define TENSOR_NAME_SIZE 64

struct shape {
    int ndim;
    int64_t dim[TENSOR_MAX_NDIM];
};

/* Indices into shape.dim of an activation. */
enum { DIM_N, DIM_H, DIM_W, DIM_C };

enum tensor_place {
    TENSOR_ARENA, /* activations and their gradients; plan_arena sets the offset */
    TENSOR_VALUE, /* weights.value */
    TENSOR_GRAD,  /* weights.grad */
    TENSOR_STATE  /* weights.state */
};

struct tensor {
    char name[TENSOR_NAME_SIZE];
    struct shape shape;
    enum dtype dtype;    /* outside the arena always DTYPE_F32 */
    enum tensor_place place;
    bool pinned;         /* in the arena: has its memory from the first to the last op, for all runs
                          * of the graph */
    bool is_weight;      /* in the arena: of the shape of weights, computed from them (fold_norm) */
    bool needs_grad;     /* in training: it is a parameter or depends on one */
    struct tensor *grad; /* gradient of the loss, of the same shape; NULL until it is appended */
    int first, last;     /* set by plan_arena: indices of the first and last op that use it; -1:
                          * none does. Pinned: 0 and the number of ops */
    size_t offset;       /* elements, within its place */
    union {              /* set by graph_bind */
        float *data;     /* DTYPE_F32 */
        uint16_t *half;  /* types of 16 bits */
        char *bytes;     /* any type */
    };
};

static inline size_t shape_count(const struct shape *s)
{
    size_t count = 1;

    for (int i = 0; i < s->ndim; i++)
        count *= (size_t)s->dim[i];
    return count;
}

static inline bool shape_equal(const struct shape *a, const struct shape *b)
{
    for (int i = 0; i < a->ndim; i++)
        if (a->ndim != b->ndim || a->dim[i] != b->dim[i])
            return false;
    return a->ndim == b->ndim;
}

static inline struct shape shape_nhwc(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return (struct shape){4, {n, h, w, c}};
}

static inline size_t tensor_count(const struct tensor *t)
{
    return shape_count(&t->shape);
}

static inline size_t tensor_nbytes(const struct tensor *t)
{
    return tensor_count(t) * dtype_size(t->dtype);
}

/* Returns n * h * w of an activation. */
static inline size_t tensor_pixels(const struct tensor *t)
{
    return (size_t)(t->shape.dim[DIM_N] * t->shape.dim[DIM_H] * t->shape.dim[DIM_W]);
}

/* Returns the first of the two rows of t that become row `row` of a result that has `height` rows
 * per image, half as many as t, rounded down or up; both rows are counted over all images. */
static inline size_t tensor_halved_row(const struct tensor *t, size_t row, size_t height)
{
    return row / height * (size_t)t->shape.dim[DIM_H] + row % height * 2;
}

static inline size_t tensor_channels(const struct tensor *t)
{
    return (size_t)t->shape.dim[DIM_C];
}

#endif
