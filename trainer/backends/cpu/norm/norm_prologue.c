/* SPDX-License-Identifier: BSD-3-Clause */
/* Products are summed as differences to the first pixel of x, which is near the others, so that
 * floats do not lose digits. */
#include "config.h"
#include "trainer/backends/cpu/norm/norm_prologue.h"

#include <string.h>

#include "trainer/backends/cpu/isa/simd.h"

#define LINE 16 /* floats of a cache line */

enum { A, C, SHIFT, VALUES };

static const struct tensor *source_of(const struct op *op)
{
    return op->in[norm_prologue_source(op) ? OP_SECOND : op->kind->source];
}

static size_t norm_prologue_step_of(const struct op *op)
{
    size_t n = tensor_channels(source_of(op));

    return norm_rows_step(norm_rows_best(n), n);
}

bool norm_prologue_supports(const struct op *op)
{
    return !norm_prologue_scale_shift(op) || norm_rows_fit(source_of(op));
}

size_t norm_prologue_size(const struct op *op)
{
    return norm_prologue_scale_shift(op)
               ? simd_round_up(VALUES * norm_prologue_step_of(op), LINE)
               : 0;
}

void norm_prologue_init(struct norm_prologue *r, const struct op *op, float *memory)
{
    if (!norm_prologue_scale_shift(op))
        return;
    const struct tensor *x = source_of(op);
    size_t n = tensor_channels(x), step = norm_prologue_step_of(op);
    const float *scale_shift = norm_prologue_scale_shift(op)->data;
    float *a = memory + A * step, *c = memory + C * step, *shift = memory + SHIFT * step;

    r->plan = (struct norm_work_plan){.rows = norm_rows_best(n), .nchannels = n,
                                      .npixels = tensor_pixels(x), .step = step};
    r->plan.wide = r->plan.rows->lanes * norm_rows_width(r->plan.rows, step);
    memcpy(shift, x->data, n * sizeof *shift);
    for (size_t i = 0; i < step; i++) {
        a[i] = scale_shift[i % n];
        c[i] = scale_shift[n + i % n];
        shift[i] = shift[i % n];
    }
    r->work = (struct norm_work){.plan = &r->plan};
    r->work.k[NORM_WORK_A] = a;
    r->work.k[NORM_WORK_C] = c;
    r->work.k[NORM_WORK_SHIFT] = shift;
    r->map = norm_work_map(&r->work);
}

void norm_prologue_add_sums(const struct norm_prologue *r, const float *g, const float *x,
                            size_t npixels, double *total)
{
    norm_work_add(&r->work, g, x, npixels, true, total);
}

void norm_prologue_write_sums(const struct norm_prologue *r, const double *partials,
                              size_t npartials, const struct tensor *sums)
{
    size_t n = r->plan.nchannels;

    for (size_t c = 0; c < n; c++) {
        double sum = 0, product = 0;

        for (size_t i = 0; i < npartials; i++) {
            sum += partials[i * 2 * n + c];
            product += partials[(i * 2 + 1) * n + c];
        }
        sums->data[c] = (float)sum;
        sums->data[n + c] = (float)(product + (double)r->work.k[NORM_WORK_SHIFT][c] * sum);
    }
}
