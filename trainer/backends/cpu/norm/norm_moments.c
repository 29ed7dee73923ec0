/* SPDX-License-Identifier: BSD-3-Clause */
/* Partial moments are doubles: the number of pixels, each channel's mean, and each channel's sum of
 * squared differences to the mean. Behind them is the first pixel, as floats: differences to it are
 * summed, so that cancellation does not lose digits. */
#include "config.h"
#include "trainer/backends/cpu/norm/norm_moments.h"

#include <string.h>

#define BLOCK 64 /* rows that are added up as floats */
#define MAX_LANES 16

bool norm_moments_supports(const struct op *op)
{
    return !op->out[OP_OUT_MOMENTS] || norm_rows_best(tensor_channels(op->out[0]));
}

struct norm_moments norm_moments_of(const struct op *op, size_t npartials)
{
    size_t nchannels = tensor_channels(op->out[0]);
    struct norm_moments m = {.nchannels = nchannels, .npartials = npartials};

    if (!op->out[OP_OUT_MOMENTS])
        return (struct norm_moments){0};
    m.rows = norm_rows_best(nchannels);
    m.step = norm_rows_step(m.rows, nchannels);
    m.size = 1 + 2 * nchannels + (m.step + 1) / 2;
    return m;
}

/* Adds to mean the differences of y to shift, and to squares their squares. */
static void add_up(const struct norm_moments *m, const float *y, size_t nrows, const float *shift,
                   double *mean, double *squares)
{
    size_t w = norm_rows_width(m->rows, m->step), wide = w * m->rows->lanes;
    float sum[NORM_WIDE * MAX_LANES], second[NORM_WIDE * MAX_LANES];

    for (size_t i = 0; i < nrows; i += BLOCK)
        for (size_t first = 0; first < m->step; first += wide) {
            m->rows->sums(y + i * m->step + first, nrows - i < BLOCK ? nrows - i : BLOCK, m->step,
                          w, shift + first, sum, second);
            for (size_t l = 0; l < wide; l++) {
                mean[(first + l) % m->nchannels] += (double)sum[l];
                squares[(first + l) % m->nchannels] += (double)second[l];
            }
        }
}

static void fill_shift(const struct norm_moments *m, const float *y, float *shift)
{
    memcpy(shift, y, m->nchannels * sizeof *shift);
    for (size_t i = m->nchannels; i < m->step; i++)
        shift[i] = shift[i - m->nchannels];
}

void norm_moments_partial(const struct norm_moments *m, const float *y, size_t npixels,
                          double *partial)
{
    double *mean = partial + 1, *squares = mean + m->nchannels, n = (double)npixels;
    float *shift = (float *)(squares + m->nchannels);

    memset(partial, 0, m->size * sizeof *partial);
    fill_shift(m, y, shift);
    add_up(m, y, npixels * m->nchannels / m->step, shift, mean, squares);
    partial[0] = n;
    for (size_t c = 0; c < m->nchannels; c++) {
        double sum = mean[c];

        mean[c] = (double)shift[c] + sum / n;
        squares[c] -= sum * sum / n;
    }
}

void norm_moments_combine(const struct norm_moments *m, const double *partials,
                          const struct tensor *moments)
{
    for (size_t c = 0; c < m->nchannels; c++) {
        double n = 0, mean = 0, squares = 0;

        for (const double *p = partials; p < partials + m->npartials * m->size; p += m->size) {
            double d = p[1 + c] - mean, total = n + p[0];

            mean += d * p[0] / total;
            squares += p[1 + m->nchannels + c] + d * d * n * p[0] / total;
            n = total;
        }
        moments->data[c] = (float)mean;
        moments->data[m->nchannels + c] = squares > 0 ? (float)(squares / n) : 0;
    }
}
