/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians, outliers, and the interval of a median.
 *
 * The interval is made of order statistics and holds for any continuous distribution. For values
 * x(1) <= ... <= x(n), the interval [x(k), x(n + 1 - k)] covers the median with probability 1 -
 * 2 P(B <= k - 1), where B is the number of heads of n fair coins. The largest k that reaches
 * the level is used (David and Nagaraja, Order Statistics, 7.1). Fewer than 6 values cannot
 * reach 0.95: even [x(1), x(n)] has only the level 1 - 2^(1 - n). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_MEDIAN_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_MEDIAN_H

#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"

/* Returns the interval of the median of ascending values without NaN, or none if there are too few
 * for the level. */
struct interval median_interval(const double *sorted, size_t n, double level);

/* Returns the median of sorted values, or NaN if there are none. */
double median_of_sorted(const double *sorted, size_t n);

/* Returns how many values are far from the others. They are reported, never dropped. By Iglewicz
 * and Hoaglin (1993), 0.6745 |x - median| / MAD is above 3.5, where MAD is the median of the
 * distances from the median. Returns 0 for fewer than MEDIAN_OUTLIER_FEWEST values, and if more
 * than half are equal. room is for n values. */
#define MEDIAN_OUTLIER_FEWEST 5
size_t median_count_outliers(const double *sorted, size_t n, double *room);

#endif
