/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm and its ReLU in parts, for kernels that apply them where they read the tensor. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_BATCH_NORM_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_BATCH_NORM_H

#include "trainer/backends/cpu/norm/norm_rows.h"
#include "trainer/core/kernel.h"

/* y = relu(a x + c): a and c are [C], repeated up to whole vectors. */
struct batch_norm_map {
    const struct norm_rows *rows;
    size_t step, wide; /* of a and c; of what is done at once */
    const float *a, *c;
};

/* n numbers of map->rows' type, whole steps; y may be x. */
void batch_norm_apply(const struct batch_norm_map *map, const void *x, size_t n, void *y);

#endif
