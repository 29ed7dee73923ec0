/* SPDX-License-Identifier: BSD-3-Clause */
/* A part is the number of its pixels, each channel's mean, and each channel's sum of squares of the
 * differences to it. */
#include "config.h"
#include "trainer/backends/simd/norm_moments.h"

#include <string.h>

#define BLOCK 64 /* rows that are added up as floats */
#define MAX_LANES 16

bool norm_moments_support(const struct op *op)
{
    const struct tensor *y = op->out[0];

    return !op_moments_out(op) ||
           (y->dtype == DTYPE_F32 && norm_rows_best(tensor_channels(y), DTYPE_F32));
}

struct norm_moments norm_moments_of(const struct op *op, size_t nparts)
{
    size_t nchannels = tensor_channels(op->out[0]);
    struct norm_moments m = {.nchannels = nchannels, .nparts = nparts, .size = 1 + 2 * nchannels};

    if (!op_moments_out(op))
        return (struct norm_moments){0};
    m.rows = norm_rows_best(nchannels, DTYPE_F32);
    m.step = norm_rows_step(m.rows, nchannels);
    return m;
}

/* Sums of differences to shift and of their squares, into mean and squares. */
static void add_up(const struct norm_moments *m, const float *y, size_t nrows, const float *shift,
                   double *mean, double *squares)
{
    size_t w = norm_rows_wide(m->rows, m->step), wide = w * m->rows->lanes;
    float sum[NORM_WIDE * MAX_LANES], second[NORM_WIDE * MAX_LANES];

    for (size_t i = 0; i < nrows; i += BLOCK)
        for (size_t first = 0; first < m->step; first += wide) {
            m->rows->sums(y + i * m->step + first, nrows - i < BLOCK ? nrows - i : BLOCK, m->step, w,
                          shift + first, sum, second);
            for (size_t l = 0; l < wide; l++) {
                mean[(first + l) % m->nchannels] += (double)sum[l];
                squares[(first + l) % m->nchannels] += (double)second[l];
            }
        }
}

void norm_moments_part(const struct norm_moments *m, const float *y, size_t npixels, double *part)
{
    double *mean = part + 1, *squares = mean + m->nchannels, n = (double)npixels;
    float repeated[MAX_LANES];
    const float *shift = y; /* the first pixel's */

    memset(part, 0, m->size * sizeof *part);
    if (m->nchannels < m->step) {
        for (size_t l = 0; l < m->step; l++)
            repeated[l] = y[l % m->nchannels];
        shift = repeated;
    }
    add_up(m, y, npixels * m->nchannels / m->step, shift, mean, squares);
    part[0] = n;
    for (size_t c = 0; c < m->nchannels; c++) {
        double sum = mean[c];

        mean[c] = (double)shift[c] + sum / n;
        squares[c] -= sum * sum / n;
    }
}

void norm_moments_write(const struct norm_moments *m, const double *parts, const struct tensor *moments)
{
    for (size_t c = 0; c < m->nchannels; c++) {
        double n = 0, mean = 0, squares = 0;

        for (const double *p = parts; p < parts + m->nparts * m->size; p += m->size) {
            double d = p[1 + c] - mean, both = n + p[0];

            mean += d * p[0] / both;
            squares += p[1 + m->nchannels + c] + d * d * n * p[0] / both;
            n = both;
        }
        moments->data[c] = (float)mean;
        moments->data[m->nchannels + c] = squares > 0 ? (float)(squares / n) : 0;
    }
}
