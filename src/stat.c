/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/stat.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

double stat_mean(const double *src, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += src[i];
    return n ? sum / (double)n : NAN;
}

double stat_stddev(const double *src, size_t n)
{
    double mean = stat_mean(src, n), sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (src[i] - mean) * (src[i] - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
}

static bool has_nan(const double *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(src[i]))
            return true;
    return false;
}

double stat_min(const double *src, size_t n)
{
    double best = INFINITY;

    for (size_t i = 0; i < n; i++)
        best = src[i] < best ? src[i] : best;
    return n == 0 || has_nan(src, n) ? NAN : best;
}

double stat_max(const double *src, size_t n)
{
    double best = -INFINITY;

    for (size_t i = 0; i < n; i++)
        best = src[i] > best ? src[i] : best;
    return n == 0 || has_nan(src, n) ? NAN : best;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stat_quantile(const double *src, size_t n, double p)
{
    if (n == 0 || has_nan(src, n) || !(p >= 0 && p <= 1))
        return NAN;
    double *sorted = calloc(n, sizeof *sorted);
    if (!sorted)
        return NAN;
    memcpy(sorted, src, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    double place = p * (double)(n - 1);
    size_t low = (size_t)place, high = low + 1 < n ? low + 1 : low;
    double part = place - (double)low;
    double value = part > 0 ? (1 - part) * sorted[low] + part * sorted[high] : sorted[low];
    free(sorted);
    return value;
}

double stat_median(const double *src, size_t n)
{
    return stat_quantile(src, n, 0.5);
}
