/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of batch norm for AVX512_BF16. */
#include "config.h"

#ifdef __x86_64__
#include <immintrin.h>

#define LANES 16
#define HAS_BF16
#define ISA __attribute__((target("avx512f,avx512bf16")))
#define NORM_ROWS_NAME bf16_norm_rows_avx512bf16
#include "trainer/backends/cpu/isa/bf16_isa.inc"
#include "trainer/backends/cpu/norm/norm_rows.h"
#include "trainer/backends/cpu/norm/norm_rows_isa.inc"
#endif
