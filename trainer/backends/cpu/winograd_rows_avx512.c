/* SPDX-License-Identifier: BSD-3-Clause */
/* Winograd's transforms for AVX-512, for multiples of 16 channels. */
#include "config.h"

#ifdef __x86_64__
#define LANES 16
#define REGISTERS 32
#define ISA __attribute__((target("avx512f")))
#define WINOGRAD_ROWS_NAME winograd_rows_avx512
#include "trainer/backends/cpu/winograd_rows_isa.inc"
#endif
