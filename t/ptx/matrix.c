/* SPDX-License-Identifier: BSD-3-Clause */
/* mma.m16n8k16 of bfloat16: D = A B + C over the lanes of a warp. Sums are formed in double and
 * rounded once; the hardware's order of adding is not published. */
#include "config.h"

#include <string.h>

#include "t/ptx/machine.h"
#include "trainer/core/vector_clones.h"

#define ROWS 16
#define COLUMNS 8
#define DEPTH 16

static float half_of(uint32_t pair, unsigned upper)
{
    uint32_t bits = upper ? pair & 0xffff0000u : pair << 16;
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

VECTOR_CLONES static void multiply(double d[ROWS][COLUMNS], const double a[ROWS][DEPTH],
                                   const double b[DEPTH][COLUMNS])
{
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned k = 0; k < DEPTH; k++)
            for (unsigned c = 0; c < COLUMNS; c++)
                d[r][c] += a[r][k] * b[k][c];
}

void run_multiply(struct warp *w, const struct insn *i)
{
    double a[ROWS][DEPTH], b[DEPTH][COLUMNS], d[ROWS][COLUMNS];

    for (unsigned l = 0; l < LANES; l++) {
        unsigned group = l / 4, pair = l % 4 * 2;
        for (unsigned k = 0; k < 4; k++) {
            uint32_t v = ((const uint32_t *)lanes_of(w, &i->operand[4 + k]))[l];
            for (unsigned u = 0; u < 2; u++)
                a[group + k % 2 * 8][pair + u + k / 2 * 8] = half_of(v, u);
            d[group + k / 2 * 8][pair + k % 2] =
                ((const float *)lanes_of(w, &i->operand[10 + k]))[l];
        }
        for (unsigned k = 0; k < 2; k++) {
            uint32_t v = ((const uint32_t *)lanes_of(w, &i->operand[8 + k]))[l];
            for (unsigned u = 0; u < 2; u++)
                b[pair + u + k * 8][group] = half_of(v, u);
        }
    }
    multiply(d, (const double(*)[DEPTH])a, (const double(*)[COLUMNS])b);
    for (unsigned k = 0; k < 4; k++)
        for (unsigned l = 0; l < LANES; l++)
            ((float *)lanes_of(w, &i->operand[k]))[l] =
                (float)d[l / 4 + k / 2 * 8][l % 4 * 2 + k % 2];
}
