/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a gradient with a deferred norm gradient (norm_grad_rows.h). */
#include "config.h"
#include "trainer/backends/cpu/norm/norm_grad_rows.h"

#include <string.h>

#include "trainer/backends/cpu/isa/simd.h"

#define LINE 16 /* floats of a cache line */

static size_t norm_grad_rows_step_of(const struct op *op)
{
    size_t n = tensor_channels(op->in[0]);

    return norm_rows_step(norm_rows_best(n), n);
}

bool norm_grad_rows_supports(const struct op *op)
{
    return !op->in[OP_NORM_GRAD_X] || norm_rows_fit(op->in[0]);
}

size_t norm_grad_rows_size(const struct op *op)
{
    return op->in[OP_NORM_GRAD_X]
               ? simd_round_up(NORM_GRAD_ROWS_COEFS * norm_grad_rows_step_of(op), LINE)
               : 0;
}

struct norm_grad_rows norm_grad_rows_of(const struct op *op, float *memory)
{
    struct norm_grad_rows l = {.g = op->in[0], .x = op->in[OP_NORM_GRAD_X], .coef = memory};
    size_t n = tensor_channels(op->in[0]);

    if (!l.x)
        return l;
    l.rows = norm_rows_best(n);
    l.step = norm_grad_rows_step_of(op);
    l.wide = l.rows->lanes * norm_rows_width(l.rows, l.step);
    for (size_t i = 0; i < NORM_GRAD_ROWS_COEFS; i++)
        for (size_t c = 0; c < l.step; c++)
            memory[i * l.step + c] = op->in[OP_NORM_GRAD_COEF]->data[i * n + c % n];
    return l;
}

void norm_grad_rows_copy(const struct norm_grad_rows *l, size_t at, size_t n, float *copy)
{
    const float *g = l->g->data + at;

    if (!l->x) {
        memcpy(copy, g, n * sizeof *copy);
        return;
    }
    for (size_t i = 0; i < l->step; i += l->wide) {
        const float *k = l->coef + i;

        l->rows->gradient(g + i, l->x->data + at + i, n / l->step, l->step,
                          l->wide / l->rows->lanes, true, k, k + l->step, k + 2 * l->step,
                          k + 3 * l->step, k + 4 * l->step, copy + i);
    }
}
