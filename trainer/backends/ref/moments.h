/* SPDX-License-Identifier: BSD-3-Clause */
/* Moments of a convolution's result (core/op.h), for kernels that give or take them. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_MOMENTS_H
#define UNETCTL_TRAINER_BACKENDS_REF_MOMENTS_H

#include "trainer/core/op.h"

/* Doubles of workspace that moments_write needs; 0: the op gives none. */
size_t moments_workspace(const struct op *op);

/* From out[0], which is there, where the op gives them. */
void moments_write(const struct op *op, double *workspace);

/* What chunks_sum(x, x) gives of npixels whose moments these are. */
void moments_sums(const struct tensor *moments, size_t npixels, double *sums);

#endif
