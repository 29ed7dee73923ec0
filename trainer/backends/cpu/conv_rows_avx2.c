/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of convolutions for AVX2. */
#include "config.h"

#ifdef __x86_64__
#define LANES 8
#define TILE1 8
#define TILE2 4
#define TILE3 4
#define ISA __attribute__((target("avx2,fma")))
#define CONV_ROWS_NAME conv_rows_avx2
#include "trainer/backends/cpu/conv_rows_isa.inc"
#endif
