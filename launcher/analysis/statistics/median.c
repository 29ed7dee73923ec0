/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/median.h"

#include <math.h>

#include "launcher/analysis/statistics/distribution.h"
#include "src/stat.h"

#define FAR 3.5
#define NORMAL_MAD 0.6745

static double coverage(size_t k, size_t n)
{
    return 1 - 2 * distribution_coins_cdf((long)k - 1, n);
}

struct interval median_interval(const double *sorted, size_t n, double level)
{
    size_t low = 1, high = (n + 1) / 2;

    if (n < 2 || coverage(1, n) < level)
        return interval_none();
    while (low < high) { /* the largest k that reaches the level */
        size_t k = low + (high - low + 1) / 2;
        if (coverage(k, n) >= level)
            low = k;
        else
            high = k - 1;
    }
    return (struct interval){sorted[low - 1], sorted[n - low], coverage(low, n), INTERVAL_ORDER};
}

double median_of_sorted(const double *sorted, size_t n)
{
    if (n == 0)
        return NAN;
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

size_t median_count_outliers(const double *sorted, size_t n, double *room)
{
    double median = median_of_sorted(sorted, n);
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        room[i] = fabs(sorted[i] - median);
    double distance = stat_median(room, n) * FAR / NORMAL_MAD;
    for (size_t i = 0; i < n && n >= MEDIAN_OUTLIER_FEWEST && distance > 0; i++)
        count += fabs(sorted[i] - median) > distance;
    return count;
}
