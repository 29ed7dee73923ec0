/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of matrices of bf16 by tiles (AMX): an instruction adds to a tile of up to 16x16 floats
 * the product of 16 rows of up to 32 numbers with 32 rows of 16.
 *
 * The same source (amx_tiles_isa.inc) is compiled for the instructions and for functions that do
 * exactly what the manual says of them (Intel 64 and IA-32 Architectures Software Developer's
 * Manual, volume 2: LDTILECFG, TILELOADD, TDPBF16PS), slowly, on any processor: what is computed is
 * tested without AMX.
 *
 * Tiles belong to a thread, are kept by the kernel over a switch, and are lost to a forked child
 * that uses them: nothing may fork between begin() and end(). A signal's frame grows by 8 KiB
 * meanwhile, which an alternative stack must have room for; this program has none. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_ISA_AMX_TILES_H
#define UNETCTL_TRAINER_BACKENDS_CPU_ISA_AMX_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AMX_TILES_ROWS 16    /* at most, of a tile of sums */
#define AMX_TILES_COLUMNS 16 /* likewise */
#define AMX_TILES_LINES 4    /* of results that share what they load */
#define AMX_TILES_DEPTH 32   /* numbers that are multiplied and added up at once, at most; even */

/* Of a tile of sums, and how many products it gets at once; lines: for amx_tiles_lines(). */
struct amx_shape {
    size_t rows, columns, depth;
    bool lines;
};

/* One factor: where its tiles lie. All in numbers, from one row of a tile to the next, to the next
 * tile of rows (of a) or columns (of b), to what is added next; sums run over windows of steps. */
struct amx_factor {
    const uint16_t *at;
    size_t row, tile, step, window;
};

/* to[m][n] = from[m][n] + sum over windows and steps of a[m][.] b[.][n], matrices of tiles. A row
 * of a tile of b has pairs: numbers 2k and 2k + 1 of each column side by side. */
struct amx_product {
    struct amx_factor a, b;
    size_t nwindows, nsteps;
    const float *from;
    size_t from_row, from_m, from_n; /* floats from row to row, tile to tile; 0: always the same */
    float *to;
    size_t to_row, to_m, to_n;
    size_t to_line; /* of amx_tiles_lines() */
};

typedef void amx_product_f(const struct amx_product *p);

struct amx_tiles {
    const char *name;
    /* Between these the calling thread may compute products of tiles of that shape. */
    void (*begin)(const struct amx_shape *shape);
    void (*end)(void);
    /* By tiles of sums down and across. */
    amx_product_f *one_by_one, *four_by_one, *one_by_two, *two_by_two, *one_by_three;
    /* AMX_TILES_LINES lines of m tiles, each by one across: a line of a is loaded once for all
     * windows. */
    void (*four_lines)(const struct amx_product *p, size_t m);
};

/* The instructions where processor and kernel have them and they were tried; the functions if the
 * environment variable UNET_ISA is "amx-emulated"; NULL: neither, or UNET_ISA is anything else.
 * Asks the kernel for the tiles when called first. */
const struct amx_tiles *amx_tiles_best(void);

/* Tries all products once, on small whole numbers: NULL, or what is wrong with them. A fault of an
 * instruction counts as well; handlers of SIGILL and SIGSEGV are others meanwhile. One thread at a
 * time. */
const char *amx_tiles_fault(const struct amx_tiles *tiles);

/* The product of a matrix of m x n tiles, by the largest blocks that fit. */
void amx_tiles_multiply(const struct amx_tiles *tiles, const struct amx_product *p, size_t m,
                        size_t n);

/* Likewise of `nlines` lines of m x n tiles: line l's first window is line l of a, and windows, of
 * which there are three, are lines. */
void amx_tiles_lines(const struct amx_tiles *tiles, const struct amx_product *p, size_t nlines,
                     size_t m, size_t n);

#ifdef __x86_64__
extern const struct amx_tiles amx_tiles_real;
#endif
extern const struct amx_tiles amx_tiles_emulated;

#endif
