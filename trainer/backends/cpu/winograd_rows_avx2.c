/* SPDX-License-Identifier: BSD-3-Clause */
/* Winograd's transforms for AVX2. */
#include "config.h"

#ifdef __x86_64__
#define LANES 8
#define REGISTERS 16
#define ISA __attribute__((target("avx2,fma")))
#define WINOGRAD_ROWS_NAME winograd_rows_avx2
#include "trainer/backends/cpu/winograd_rows_isa.inc"
#endif
