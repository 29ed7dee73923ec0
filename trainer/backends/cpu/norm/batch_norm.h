/* SPDX-License-Identifier: BSD-3-Clause */
/* A batch norm with its ReLU, for kernels that apply it while they read a tensor. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_NORM_BATCH_NORM_H
#define UNETCTL_TRAINER_BACKENDS_CPU_NORM_BATCH_NORM_H

#include "trainer/backends/cpu/norm/norm_rows.h"
#include "trainer/core/kernel.h"

/* y = max(0, a x + c), with a and c repeated from [C] to whole vectors. */
struct batch_norm_map {
    const struct norm_rows *rows;
    size_t step, wide; /* values of a and c; values processed at once */
    const float *a, *c;
};

/* Applies the norm to n values, a multiple of map->step; y may be x. */
void batch_norm_apply(const struct batch_norm_map *map, const float *x, size_t n, float *y);

#endif
