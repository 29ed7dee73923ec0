/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of in[0], the gradient of a convolution's result, for the kernels of the convolution's
 * gradients. If the op has a deferred norm gradient (core/op.h) it is applied while rows are
 * read. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_GRAD_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_GRAD_ROWS_H

#include "trainer/backends/cpu/norm/norm_rows.h"
#include "trainer/core/op.h"

#define NORM_GRAD_ROWS_COEFS 5

struct norm_grad_rows {
    const struct tensor *g, *x;   /* x NULL: g is used as it is */
    const struct norm_rows *rows;
    size_t step, wide;            /* values of a coefficient; values processed at once */
    const float *coef;            /* [NORM_GRAD_ROWS_COEFS][step] */
};

/* Returns whether there is no deferred norm gradient, or one that suits the loops of
 * norm_rows.h. */
bool norm_grad_rows_supports(const struct op *op);

/* Returns the floats of memory that norm_grad_rows_of() needs, a multiple of 16; 0 without a
 * deferred norm gradient. */
size_t norm_grad_rows_size(const struct op *op);

/* The result is valid as long as the memory and the op's tensors. */
struct norm_grad_rows norm_grad_rows_of(const struct op *op, float *memory);

/* Writes n values, whole pixels and whole vectors, from index `at` on to copy. */
void norm_grad_rows_copy(const struct norm_grad_rows *l, size_t at, size_t n, float *copy);

#endif
