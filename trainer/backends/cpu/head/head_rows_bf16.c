/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of the head for bf16. */
#include "config.h"
#include "trainer/backends/cpu/head/head_rows.h"

#include "trainer/backends/cpu/isa/bf16.h"

#define LANES HEAD_ROWS_LANES
#ifdef __x86_64__
#define ISA __attribute__((target("avx2,fma")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/isa/bf16_isa.inc"

#define number_value bf16_to_float
#define HEAD_ROWS_NAME head_rows_bf16
#include "trainer/backends/cpu/head/head_rows_isa.inc"
