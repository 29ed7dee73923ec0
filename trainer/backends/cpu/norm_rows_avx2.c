/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of batch norm for AVX2. */
#include "config.h"

#ifdef __x86_64__
#define LANES 8
#define ISA __attribute__((target("avx2,fma")))
#define NORM_ROWS_NAME norm_rows_avx2
#include "trainer/backends/cpu/norm_rows.h"
#include "trainer/backends/cpu/norm_rows_isa.inc"
#endif
