/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of the head for floats. */
#include "config.h"
#include "trainer/backends/cpu/head/head_rows.h"

#define LANES HEAD_ROWS_LANES
#ifdef __x86_64__
#define ISA __attribute__((target("avx2,fma")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/isa/float_isa.inc"

#define number_value(x) (x)
#define HEAD_ROWS_NAME head_rows_float
#include "trainer/backends/cpu/head/head_rows_isa.inc"
