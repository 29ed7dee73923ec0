/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of convolutions and of batch norm, and Winograd's transforms, for AVX-512. */
#include "src/base.h"

#ifdef __x86_64__
#define LANES 16
#define REGISTERS 32
#define ISA __attribute__((target("avx512f")))
#define NAMED(name) name##_avx512
#include "trainer/backends/cpu/conv_rows_isa.inc"
#include "trainer/backends/cpu/norm_rows_isa.inc"
#include "trainer/backends/cpu/winograd_rows_isa.inc"
#endif
