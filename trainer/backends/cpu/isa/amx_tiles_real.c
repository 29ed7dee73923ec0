/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"

#ifdef __x86_64__
#include <immintrin.h>

/* The compiler may not know that these instructions read memory, nor how many bytes of *c the
 * configuration has. */
#define tile_configure(c)                                  \
    do {                                                   \
        __asm__ volatile("" : : "r"(c) : "memory");        \
        _tile_loadconfig(c);                               \
    } while (0)
#define tile_release() _tile_release()
#define tile_load(tile, from, stride)                      \
    do {                                                   \
        __asm__ volatile("" : : : "memory");               \
        _tile_loadd(tile, from, stride);                   \
    } while (0)
#define tile_store(tile, to, stride) _tile_stored(tile, to, stride)
#define tile_dot(sum, a, b) _tile_dpbf16ps(sum, a, b)

#define ISA __attribute__((target("amx-tile,amx-bf16")))
#define TILES_NAME amx_tiles_real
#define TILES_TEXT "AMX"
#include "trainer/backends/cpu/isa/amx_tiles_isa.inc"
#endif
