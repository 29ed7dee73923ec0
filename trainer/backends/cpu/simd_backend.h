/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend "simd": kernels for the CPU in AVX2 and AVX-512.
 *
 * backends.c lists it, and graphs take its kernels when they are compiled; ops without one are left
 * to the reference. The inner loops are compiled for several instruction sets (the files with _isa,
 * _avx2 and _avx512 in their names), of which one is chosen when a graph is compiled. Sums have a
 * fixed order that does not depend on the number of threads. Nothing is allocated in a run: a plan
 * is kept in op->priv, and everything else is laid out in the op's workspace.
 *
 * To read: simd.h, which lists the kernels; conv_rows.h, the products that all convolutions share;
 * direct_conv.c, then winograd.c; batch_norm.c with norm_rows.h. */
#pragma once

#include "trainer/core/kernel.h"

extern const struct backend simd_backend;
