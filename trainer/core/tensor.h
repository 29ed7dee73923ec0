/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors: plain row-major arrays of floats, or of 16-bit numbers. Activations are [n][h][w][c]
 * (NHWC); parameters have the shapes that PyTorch gives them (struct weights_entry). */
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

/* Index of an activation's dimensions. */
enum { DIM_N, DIM_H, DIM_W, DIM_C };

enum tensor_place {
    TENSOR_ARENA, /* activations and their gradients; the planner gives the offset */
    TENSOR_VALUE, /* weights.value */
    TENSOR_GRAD,  /* weights.grad */
    TENSOR_STATE  /* weights.state */
};

struct tensor {
    char name[TENSOR_NAME_SIZE];
    struct shape shape;
    enum dtype dtype;    /* outside the arena always DTYPE_F32 */
    enum tensor_place place;
    bool pinned;         /* in the arena: keeps its memory from the first to the last op */
    bool needs_grad;     /* the loss depends on a parameter through it, or it is one */
    struct tensor *grad; /* gradient of the loss, same shape; NULL as long as there is none */
    int first, last;     /* ops that write it first and use it last */
    size_t offset;       /* elements, within its place */
    union {              /* set when the graph is bound to memory */
        float *data;     /* of DTYPE_F32 */
        uint16_t *half;  /* of the others */
        char *bytes;     /* of either */
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

/* Places in an activation: n * h * w. */
static inline size_t tensor_pixels(const struct tensor *t)
{
    return (size_t)(t->shape.dim[DIM_N] * t->shape.dim[DIM_H] * t->shape.dim[DIM_W]);
}

/* The row of t, counted over all images, that row of a result with half its height begins with. */
static inline size_t tensor_halved_row(const struct tensor *t, size_t row, size_t height)
{
    return row / height * (size_t)t->shape.dim[DIM_H] + row % height * 2;
}

static inline size_t tensor_channels(const struct tensor *t)
{
    return (size_t)t->shape.dim[DIM_C];
}

#endif
