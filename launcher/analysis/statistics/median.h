/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians, outliers, and the interval of a median.
 *
 * The interval is that of order statistics: it holds for any continuous distribution.
 * With values x(1) <= ... <= x(n), the interval [x(k), x(n + 1 - k)] covers the median with
 * probability 1 - 2 P(B <= k - 1), B the heads of n fair coins. The largest k that reaches the
 * level is taken (David and Nagaraja, Order Statistics, 7.1). Fewer than 6 values do not reach
 * 0.95: then it is [x(1), x(n)] with the level it has, 1 - 2^(1 - n). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_MEDIAN_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_MEDIAN_H

#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"

/* sorted ascending, no NaN. None for n < 2. */
struct interval median_interval(const double *sorted, size_t n, double level);

/* Of sorted values; NaN for none. */
double median_of_sorted(const double *sorted, size_t n);

/* Ascending, in place. */
void median_sort(double *values, size_t n);

/* How many values lie far from the others; they are reported, never dropped. Iglewicz and Hoaglin
 * (1993): 0.6745 |x - median| / MAD above 3.5, MAD the median of the distances from the median. 0
 * for fewer than MEDIAN_OUTLIER_FEWEST values, and where more than half are equal. room: for n
 * values. */
#define MEDIAN_OUTLIER_FEWEST 5
size_t median_count_outliers(const double *sorted, size_t n, double *room);

#endif
