/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of max pooling for bf16. */
#include "config.h"
#include "trainer/backends/cpu/pool/max_pool2d.h"

#define LANES MAX_POOL2D_LANES
#ifdef __x86_64__
#include <immintrin.h>

#define ISA __attribute__((target("avx2")))
#else
#define ISA
#endif
#include "trainer/backends/cpu/isa/bf16_isa.inc"

#define MAX_POOL2D_ROWS_NAME max_pool2d_rows_bf16
#include "trainer/backends/cpu/pool/max_pool2d_rows_isa.inc"
