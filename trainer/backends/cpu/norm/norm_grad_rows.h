/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a gradient on their way into a convolution's own: those of in[0] as they are, or where a
 * norm's gradient comes late (core/op.h) what its coefficients make of them. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_GRAD_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_NORM_GRAD_ROWS_H

#include "trainer/backends/cpu/norm/norm_rows.h"
#include "trainer/core/op.h"

#define NORM_GRAD_ROWS_COEFS 5

struct norm_grad_rows {
    const struct tensor *g, *x;   /* x NULL: g is the gradient */
    const struct norm_rows *rows;
    size_t step, wide;            /* numbers of a coefficient; of what is done at once */
    const float *coef;            /* [NORM_GRAD_ROWS_COEFS][step] */
};

/* Does it come as it is, or can it be done, of that type? */
bool norm_grad_rows_supports(const struct op *op, enum dtype t);

/* Floats of memory that norm_grad_rows_of needs, a multiple of 16. */
size_t norm_grad_rows_size(const struct op *op);

/* Lasts as long as the memory and the op's tensors. */
struct norm_grad_rows norm_grad_rows_of(const struct op *op, float *memory);

/* n numbers, whole pixels and vectors, from number `at` on, of the gradient's type, into copy. */
void norm_grad_rows_copy(const struct norm_grad_rows *l, size_t at, size_t n, void *copy);

/* The same of floats, in place where the gradient comes as it is; copy: room for them. */
const float *norm_grad_rows_read(const struct norm_grad_rows *l, size_t at, size_t n, float *copy);

#endif
