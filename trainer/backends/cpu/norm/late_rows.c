/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cpu/norm/late_rows.h"

#include <string.h>

#define LINE 16 /* floats of a line of the cache */

static size_t step_of(const struct op *op)
{
    size_t n = tensor_channels(op->in[0]);

    return norm_rows_step(norm_rows_best(n, op->in[0]->dtype), n);
}

bool late_rows_support(const struct op *op, enum dtype t)
{
    const struct tensor *g = op->in[0], *x = op->in[OP_NORM_GRAD_X];

    return !x || (g->dtype == t && x->dtype == t && norm_rows_fit(g));
}

size_t late_rows_size(const struct op *op)
{
    return op->in[OP_NORM_GRAD_X] ? (LATE_ROWS_COEFS * step_of(op) + LINE - 1) / LINE * LINE : 0;
}

struct late_rows late_rows_of(const struct op *op, float *memory)
{
    struct late_rows l = {.g = op->in[0], .x = op->in[OP_NORM_GRAD_X], .coef = memory};
    size_t n = tensor_channels(op->in[0]);

    if (!l.x)
        return l;
    l.rows = norm_rows_best(n, l.g->dtype);
    l.step = step_of(op);
    l.wide = l.rows->lanes * norm_rows_wide(l.rows, l.step);
    for (size_t i = 0; i < LATE_ROWS_COEFS; i++)
        for (size_t c = 0; c < l.step; c++)
            memory[i * l.step + c] = op->in[OP_NORM_GRAD_COEF]->data[i * n + c % n];
    return l;
}

void late_rows_copy(const struct late_rows *l, size_t at, size_t n, void *copy)
{
    size_t size = dtype_size(l->g->dtype);
    const char *g = l->g->bytes + at * size;

    if (!l->x) {
        memcpy(copy, g, n * size);
        return;
    }
    for (size_t i = 0; i < l->step; i += l->wide) {
        const float *k = l->coef + i;

        l->rows->gradient(g + i * size, l->x->bytes + (at + i) * size, n / l->step, l->step,
                          l->wide / l->rows->lanes, true, k, k + l->step, k + 2 * l->step,
                          k + 3 * l->step, k + 4 * l->step, (char *)copy + i * size);
    }
}

const float *late_rows_read(const struct late_rows *l, size_t at, size_t n, float *copy)
{
    if (!l->x)
        return l->g->data + at;
    late_rows_copy(l, at, n, copy);
    return copy;
}
