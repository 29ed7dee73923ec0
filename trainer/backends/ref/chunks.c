/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums per channel in a fixed order (chunks.h). */
#include "config.h"
#include "trainer/backends/ref/chunks.h"

#include <string.h>

#include "trainer/backends/ref/vector.h"

size_t chunks_workspace(size_t nchannels)
{
    return 2 * (CHUNKS + 1) * vector_period(nchannels);
}

VECTOR_CLONES static void sum_values(const float *restrict a, size_t n, size_t period,
                                     double *restrict sum)
{
    for (; n >= period; n -= period, a += period)
        for (size_t i = 0; i < period; i++)
            sum[i] += (double)a[i];
    for (size_t i = 0; i < n; i++)
        sum[i] += (double)a[i];
}

VECTOR_CLONES static void sum_products(const float *a, const float *b, size_t n, size_t period,
                                       double *restrict sum, double *restrict products)
{
    for (; n >= period; n -= period, a += period, b += period)
        for (size_t i = 0; i < period; i++) {
            sum[i] += (double)a[i];
            products[i] += (double)a[i] * (double)b[i];
        }
    for (size_t i = 0; i < n; i++) {
        sum[i] += (double)a[i];
        products[i] += (double)a[i] * (double)b[i];
    }
}

static void sum_chunk(const float *a, const float *b, size_t begin, size_t end, size_t nchannels,
                      double *sums)
{
    size_t period = vector_period(nchannels);
    size_t first = begin * nchannels, n = (end - begin) * nchannels;

    memset(sums, 0, 2 * period * sizeof *sums);
    if (b)
        sum_products(a + first, b + first, n, period, sums, sums + period);
    else
        sum_values(a + first, n, period, sums);
}

/* Adds sums[2][period] of one chunk to total[2][nchannels]. */
static void add_chunk(const double *sums, size_t nchannels, double *total)
{
    size_t period = vector_period(nchannels);

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < period; i += nchannels)
            for (size_t c = 0; c < nchannels; c++)
                total[k * nchannels + c] += sums[k * period + i + c];
}

void chunks_sum(const float *a, const float *b, size_t npixels, size_t nchannels,
                double *workspace)
{
    size_t stride = 2 * vector_period(nchannels);
    double *total = workspace + CHUNKS * stride;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++)
        sum_chunk(a, b, chunk_begin(npixels, i), chunk_begin(npixels, i + 1), nchannels,
                  workspace + i * stride);
    memset(total, 0, 2 * nchannels * sizeof *total);
    for (size_t i = 0; i < CHUNKS; i++)
        add_chunk(workspace + i * stride, nchannels, total);
    memcpy(workspace, total, 2 * nchannels * sizeof *total);
}
