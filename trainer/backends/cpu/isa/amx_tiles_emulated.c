/* SPDX-License-Identifier: BSD-3-Clause */
/* AMX instructions as functions that give the bits of the manual's pseudocode, for tests. Where
 * shapes do not fit together, so that an instruction would fault, sums become NaN; without a
 * configuration nothing is stored. */
#include "config.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"

#include <float.h>
#include <math.h>

#include "trainer/backends/cpu/isa/bf16.h"
#include "trainer/backends/ref/vector.h"

#define NTILES 8
#define ROW_BYTES 64

struct amx_config;
static void tile_configure(const struct amx_config *c);
static void tile_release(void);
static void tile_load(int tile, const void *from, size_t stride);
static void tile_store(int tile, void *to, size_t stride);
static void tile_dot(int sum, int a, int b);

#define ISA
#define TILES_NAME amx_tiles_emulated
#define TILES_TEXT "emulated AMX"
#include "trainer/backends/cpu/isa/amx_tiles_isa.inc"

struct tile {
    size_t rows, row_bytes;
    char data[AMX_TILES_ROWS][ROW_BYTES];
};

static _Thread_local struct tile tiles[NTILES];

static void tile_configure(const struct amx_config *c)
{
    memset(tiles, 0, sizeof tiles);
    for (int i = 0; c->palette == 1 && i < NTILES; i++)
        if (c->rows[i] <= AMX_TILES_ROWS && c->row_bytes[i] <= ROW_BYTES) {
            tiles[i].rows = c->rows[i];
            tiles[i].row_bytes = c->row_bytes[i];
        }
}

static void tile_release(void)
{
    memset(tiles, 0, sizeof tiles);
}

static void tile_load(int tile, const void *from, size_t stride)
{
    struct tile *t = &tiles[tile];

    memset(t->data, 0, sizeof t->data);
    for (size_t i = 0; i < t->rows; i++)
        memcpy(t->data[i], (const char *)from + i * stride, t->row_bytes);
}

static void tile_store(int tile, void *to, size_t stride)
{
    for (size_t i = 0; i < tiles[tile].rows; i++)
        memcpy((char *)to + i * stride, tiles[tile].data[i], tiles[tile].row_bytes);
}

/* Subnormal numbers become 0 of the same sign. */
static inline float flush(float v)
{
    return fabsf(v) < FLT_MIN ? copysignf(0.0F, v) : v;
}

/* A row of sums: products at even and at odd indices are summed separately with fused
 * multiply-adds, and then both are added to the sum. b holds the pairs of each row. */
VECTOR_CLONES static void dot_row(const float *a, const float (*b)[AMX_TILES_COLUMNS],
                                  size_t npairs, float *sum)
{
    float products[2][AMX_TILES_COLUMNS] = {{0}};

    for (size_t k = 0; k < npairs; k++)
        for (size_t e = 0; e < 2; e++)
#pragma omp simd
            for (size_t n = 0; n < AMX_TILES_COLUMNS; n++)
                products[e][n] = flush(fmaf(a[2 * k + e], b[2 * k + e][n], products[e][n]));
#pragma omp simd
    for (size_t n = 0; n < AMX_TILES_COLUMNS; n++)
        sum[n] = flush(flush(sum[n]) + flush(products[0][n] + products[1][n]));
}

static bool fit(const struct tile *c, const struct tile *a, const struct tile *b)
{
    return c->rows > 0 && c->row_bytes > 0 && c->rows == a->rows && c->row_bytes == b->row_bytes &&
           a->row_bytes == b->rows * 2 * sizeof(uint16_t);
}

static float number_at(const struct tile *t, size_t row, size_t i)
{
    uint16_t half;

    memcpy(&half, t->data[row] + i * sizeof half, sizeof half);
    return flush(bf16_to_float(half));
}

static void tile_dot(int sum, int a, int b)
{
    struct tile *c = &tiles[sum];
    float left[AMX_TILES_DEPTH], right[AMX_TILES_DEPTH][AMX_TILES_COLUMNS], row[AMX_TILES_COLUMNS];

    if (!fit(c, &tiles[a], &tiles[b])) {
        memset(c->data, 0xff, sizeof c->data);
        return;
    }
    for (size_t k = 0; k < AMX_TILES_DEPTH; k++)
        for (size_t n = 0; n < AMX_TILES_COLUMNS; n++)
            right[k][n] = number_at(&tiles[b], k / 2, 2 * n + k % 2);
    for (size_t m = 0; m < c->rows; m++) {
        for (size_t k = 0; k < AMX_TILES_DEPTH; k++)
            left[k] = number_at(&tiles[a], m, k);
        memcpy(row, c->data[m], sizeof row);
        dot_row(left, (const float(*)[AMX_TILES_COLUMNS])right, tiles[b].rows, row);
        memcpy(c->data[m], row, c->row_bytes);
    }
}
