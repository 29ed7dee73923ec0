/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend "simd": kernels for the CPU in AVX2 and AVX-512. Many are compiled for several
 * instruction sets, of which one is chosen when a graph is compiled. Sums have a fixed order that
 * does not depend on the number of threads. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_SIMD_BACKEND_H
#define UNETCTL_TRAINER_BACKENDS_CPU_SIMD_BACKEND_H

#include "trainer/core/kernel.h"

extern const struct kernel *const simd_kernels[]; /* NULL-terminated */
extern const struct backend simd_backend;

#endif
