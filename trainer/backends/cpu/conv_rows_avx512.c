/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of convolutions for AVX-512. */
#include "config.h"

#ifdef __x86_64__
#define LANES 16
#define TILE1 16
#define TILE2 8
#define TILE3 8
#define ISA __attribute__((target("avx512f")))
#define CONV_ROWS_NAME conv_rows_avx512
#include "trainer/backends/cpu/conv_rows_isa.inc"
#endif
