/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of winograd.c's kernels for ops in which a batch norm and its ReLU come before a convolution: they are
 * done to rows on their way to the transforms, so the tensor in between is not there. */
#ifndef UNETCTL_TRAINER_BACKENDS_SIMD_WINOGRAD_H
#define UNETCTL_TRAINER_BACKENDS_SIMD_WINOGRAD_H

#include "trainer/backends/simd/batch_norm.h"

/* In place of what simd_winograd and simd_winograd_grad_weights (with and without bias) do for an op that
 * they support; it is released by them. norm has the channels of the op's x. */
int winograd_prepare_normed(struct op *op, struct err *e);
int winograd_prepare_normed_grad_weights(struct op *op, struct err *e);
void winograd_run_normed(struct op *op, const struct batch_norm_map *norm);
void winograd_run_normed_grad_weights(struct op *op, const struct batch_norm_map *norm);

#endif
