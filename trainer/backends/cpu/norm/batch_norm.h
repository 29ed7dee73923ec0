/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm and its ReLU in parts, for kernels that apply them where they read the tensor. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_BATCH_NORM_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_BATCH_NORM_H

#include "trainer/backends/cpu/norm/norm_rows.h"
#include "trainer/core/kernel.h"

/* y = relu(a x + c): a and c are [C], repeated up to whole vectors. They last as long as the op's
 * workspace. */
struct batch_norm_map {
    const struct norm_rows *rows;
    size_t step, wide; /* of a and c; of what is done at once */
    const float *a, *c;
};

/* op: of batch_norm_kind with ReLU, prepared by its kernel. Writes what it saves and the running
 * statistics, but not out[0]. */
int batch_norm_statistics(struct op *op, struct exec *x, struct batch_norm_map *map, struct err *e);

/* op: of batch_norm_grad_kind with ReLU, prepared by its kernel. What the forward pass has done. */
void batch_norm_grad_again(struct op *op, struct batch_norm_map *map);

/* total[2][C] += what the gradient of such an op needs of npixels of dy and x, after
 * batch_norm_grad_again(). */
void batch_norm_grad_add(const struct op *op, const void *dy, const void *x, size_t npixels, double *total);

/* The rest of the gradient, after batch_norm_grad_again(), from the sums of all pixels,
 * parts[nparts][2][C]: of such an op, with attr.coef or not. */
int batch_norm_grad_finish(struct op *op, struct exec *x, const double *parts, size_t nparts, struct err *e);

/* n numbers of map->rows' type, whole steps; y may be x. */
void batch_norm_apply(const struct batch_norm_map *map, const void *x, size_t n, void *y);

#endif
