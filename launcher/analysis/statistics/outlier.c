/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/outlier.h"

#include <math.h>

#include "launcher/analysis/statistics/median.h"

#define FAR 3.5
#define NORMAL_MAD 0.6745

struct outlier_fence outlier_fence(const double *sorted, size_t n, double *room)
{
    double median = median_of_sorted(sorted, n);

    for (size_t i = 0; i < n; i++)
        room[i] = fabs(sorted[i] - median);
    double distance = median_select(room, n) * FAR / NORMAL_MAD;
    if (n < OUTLIER_FEWEST || !(distance > 0))
        return (struct outlier_fence){-INFINITY, INFINITY};
    return (struct outlier_fence){median - distance, median + distance};
}

size_t outlier_count(const double *values, size_t n, const struct outlier_fence *fence)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += values[i] < fence->low || values[i] > fence->high;
    return count;
}
