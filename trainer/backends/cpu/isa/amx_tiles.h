/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of bf16 matrices by AMX tiles: one instruction adds to a tile of up to 16x16 floats the
 * product of up to 16 rows of 32 values and 32 rows of 16.
 *
 * The same source (amx_tiles_isa.inc) is compiled for the instructions, and for functions that
 * emulate them bit by bit on any processor, slowly, so that kernels are tested without AMX (Intel
 * 64 and IA-32 Architectures Software Developer's Manual, volume 2: LDTILECFG, TILELOADD,
 * TDPBF16PS).
 *
 * Tiles belong to a thread. The operating system preserves them when it switches threads, but a
 * forked child begins without them: do not fork between begin() and end(). In that time a signal's
 * frame is 8 KiB larger, which an alternative signal stack must have room for; this program uses no
 * such stack. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_ISA_AMX_TILES_H
#define UNETCTL_TRAINER_BACKENDS_CPU_ISA_AMX_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AMX_TILES_ROWS 16    /* of a tile of sums, at most */
#define AMX_TILES_COLUMNS 16 /* of a tile of sums, at most */
#define AMX_TILES_LINES 4    /* rows of results that share what they load */
#define AMX_TILES_DEPTH 32   /* products that an instruction sums for each element, at most; even */

/* A tile of sums, and how many products an instruction adds to each element; lines: for
 * amx_tiles_lines(). */
struct amx_shape {
    size_t rows, columns, depth;
    bool lines;
};

/* Where one factor's tiles are. row, tile, step and window are distances in values: from one row of
 * a tile to the next; to the next tile of rows (of a) or columns (of b); and, since a sum runs over
 * nwindows windows of nsteps steps, to the next step and the next window. */
struct amx_factor {
    const uint16_t *at;
    size_t row, tile, step, window;
};

/* to[m][n] = from[m][n] + sum over windows and steps of a[m][.] b[.][n], where the elements are
 * tiles. A row of a tile of b has pairs: values 2k and 2k + 1 of each column side by side. */
struct amx_product {
    struct amx_factor a, b;
    size_t nwindows, nsteps;
    const float *from;
    size_t from_row, from_m, from_n; /* floats from row to row and tile to tile; 0: always the
                                      * same */
    float *to;
    size_t to_row, to_m, to_n;
    size_t to_line; /* for amx_tiles_lines() */
};

typedef void amx_product_f(const struct amx_product *p);

struct amx_tiles {
    const char *name;
    /* Between begin() and end() the calling thread may compute products of tiles of that shape. */
    void (*begin)(const struct amx_shape *shape);
    void (*end)(void);
    /* The number of tiles of sums down and across. */
    amx_product_f *one_by_one, *four_by_one, *one_by_two, *two_by_two, *one_by_three;
    /* AMX_TILES_LINES lines of m tiles, one tile across: each line of a is loaded once for all
     * windows. */
    void (*four_lines)(const struct amx_product *p, size_t m);
};

/* Returns the instructions if processor (with AVX512_BF16) and operating system have them and they
 * passed a trial; the emulation if the environment variable UNET_ISA is "amx-emulated"; NULL
 * otherwise, or if UNET_ISA is anything else. The first call asks the operating system for the
 * tiles. */
const struct amx_tiles *amx_tiles_best(void);

/* Tries all products once, on small whole numbers. Returns NULL, or what is wrong with them; an
 * instruction that faults is reported, too, and so is a lack of memory. Replaces the handlers of
 * SIGILL and SIGSEGV meanwhile, so only one thread may call it at a time. */
const char *amx_tiles_fault(const struct amx_tiles *tiles);

/* Computes the product of matrices of m x n tiles by the largest register blocks that fit. */
void amx_tiles_multiply(const struct amx_tiles *tiles, const struct amx_product *p, size_t m,
                        size_t n);

/* Computes nlines lines of m x n tiles each. A window is a line of a: line l of the results begins
 * with line l of a as its first of three windows. */
void amx_tiles_lines(const struct amx_tiles *tiles, const struct amx_product *p, size_t nlines,
                     size_t m, size_t n);

#ifdef __x86_64__
extern const struct amx_tiles amx_tiles_real;
#endif
extern const struct amx_tiles amx_tiles_emulated;

#endif
