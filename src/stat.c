/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/stat.h"

#include <math.h>

double stat_mean(const double *src, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += src[i];
    return n ? sum / (double)n : NAN;
}

bool stat_are_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
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

void stat_sort(double *values, size_t n) /* Shell's, with Gonnet's gaps */
{
    for (size_t gap = n; gap > 1;) {
        gap = gap > 2 ? (5 * gap - 1) / 11 : 1;
        for (size_t i = gap; i < n; i++) {
            double value = values[i];
            size_t k = i;
            for (; k >= gap && values[k - gap] > value; k -= gap)
                values[k] = values[k - gap];
            values[k] = value;
        }
    }
}

double stat_median(const double *src, size_t n)
{
    double *sorted = n && !has_nan(src, n) ? calloc(n, sizeof *sorted) : NULL;

    if (!sorted)
        return NAN;
    memcpy(sorted, src, n * sizeof *sorted);
    stat_sort(sorted, n);
    double value = n % 2 ? sorted[n / 2] : 0.5 * sorted[n / 2 - 1] + 0.5 * sorted[n / 2];
    free(sorted);
    return value;
}
