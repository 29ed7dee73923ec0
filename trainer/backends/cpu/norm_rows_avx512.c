/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of batch norm for AVX-512. */
#include "config.h"

#ifdef __x86_64__
#define LANES 16
#define ISA __attribute__((target("avx512f")))
#define NORM_ROWS_NAME norm_rows_avx512
#include "trainer/backends/cpu/norm_rows.h"
#include "trainer/backends/cpu/norm_rows_isa.inc"
#endif
