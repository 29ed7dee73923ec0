/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels for the CPU in wide instructions (AVX2, AVX-512, AMX), by name simd. They are compiled
 * for several instruction sets and chosen when a graph is prepared. Sums have a fixed order,
 * whatever the number of threads is. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_SIMD_BACKEND_H
#define UNETCTL_TRAINER_BACKENDS_CPU_SIMD_BACKEND_H

#include "trainer/core/backend.h"

extern const struct kernel *const simd_kernels[]; /* NULL-terminated */
extern const struct backend simd_backend;

#endif
