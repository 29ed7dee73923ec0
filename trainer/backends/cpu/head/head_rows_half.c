/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cpu/head/head_rows.h"

#include "trainer/backends/cpu/isa/half.h"

#define LANES HEAD_ROWS_LANES
#ifdef __x86_64__
#define ISA __attribute__((target("avx2,fma")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/isa/half_isa.inc"

#define number_value half_widen
#define HEAD_ROWS_NAME head_rows_half
#include "trainer/backends/cpu/head/head_rows_isa.inc"
