/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/reduce.h"

#include <stdint.h>
#include <string.h>

#include "trainer/core/kernel.h"

#define BLOCK 512 /* elements that stay in the cache */

/* Defines a function that combines elements [from, to) of all values into dst, or if dst is NULL
 * into all values. Two ranks need no block, as all memory is then read and written once. */
#define REDUCE_FUNCTION(name, type, combine)                                                   \
    VECTOR_CLONES static void name(type *dst, void *const *values, int size, size_t from,      \
                                   size_t to)                                                  \
    {                                                                                          \
        type block[BLOCK], *a = values[0], *b = size == 2 ? values[1] : NULL;                  \
                                                                                               \
        for (size_t i = from; i < to && b && !dst; i++)                                        \
            a[i] = b[i] = combine(a[i], b[i]);                                                 \
        for (size_t at = from; at < to && !(b && !dst); at += BLOCK) {                         \
            size_t n = to - at < BLOCK ? to - at : BLOCK;                                      \
            memcpy(block, a + at, n * sizeof *block);                                          \
            for (int r = 1; r < size; r++) {                                                   \
                const type *v = (const type *)values[r] + at;                                  \
                for (size_t i = 0; i < n; i++)                                                 \
                    block[i] = combine(block[i], v[i]);                                        \
            }                                                                                  \
            if (dst)                                                                           \
                memcpy(dst + (at - from), block, n * sizeof *block);                           \
            for (int r = 0; r < size && !dst; r++)                                             \
                memcpy((type *)values[r] + at, block, n * sizeof *block);                      \
        }                                                                                      \
    }

#define ADD(a, b) ((a) + (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
REDUCE_FUNCTION(sum_float, float, ADD)
REDUCE_FUNCTION(sum_double, double, ADD)
REDUCE_FUNCTION(sum_int64, int64_t, ADD)
REDUCE_FUNCTION(max_double, double, MAX)

size_t reduce_element(enum reduce_op op)
{
    return op == REDUCE_SUM_FLOAT ? sizeof(float) : 8;
}

const char *reduce_name(enum reduce_op op)
{
    static const char *const names[] = {[REDUCE_SUM_FLOAT] = "a sum of floats",
                                        [REDUCE_SUM_DOUBLE] = "a sum of doubles",
                                        [REDUCE_SUM_INT64] = "a sum of counts",
                                        [REDUCE_MAX_DOUBLE] = "a maximum"};

    return names[op];
}

void reduce_into(enum reduce_op op, void *dst, void *const *values, int size, size_t from,
                 size_t to)
{
    switch (op) {
    case REDUCE_SUM_FLOAT: sum_float(dst, values, size, from, to); break;
    case REDUCE_SUM_DOUBLE: sum_double(dst, values, size, from, to); break;
    case REDUCE_SUM_INT64: sum_int64(dst, values, size, from, to); break;
    case REDUCE_MAX_DOUBLE: max_double(dst, values, size, from, to); break;
    }
}

void reduce_share(size_t n, int rank, int size, size_t *from, size_t *to)
{
    size_t r = (size_t)rank, s = (size_t)size;

    *from = n / s * r + n % s * r / s;
    *to = n / s * (r + 1) + n % s * (r + 1) / s;
}
