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

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stat_median(const double *src, size_t n)
{
    double *sorted = n && !has_nan(src, n) ? calloc(n, sizeof *sorted) : NULL;

    if (!sorted)
        return NAN;
    memcpy(sorted, src, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    double value = n % 2 ? sorted[n / 2] : 0.5 * sorted[n / 2 - 1] + 0.5 * sorted[n / 2];
    free(sorted);
    return value;
}
