/* SPDX-License-Identifier: BSD-3-Clause */
/* Values far from the others. They are told, never dropped.
 *
 * Iglewicz and Hoaglin (1993): 0.6745 |x - median| / MAD above 3.5, MAD the median of the distances
 * from the median. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_OUTLIER_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_OUTLIER_H

#include <stdbool.h>
#include <stddef.h>

#define OUTLIER_FEWEST 5 /* values below which nothing is called an outlier */

struct outlier_fence {
    double low, high; /* values outside are outliers */
};

/* Of values[0..n) without NaN, sorted ascending; room for n values. A sample with no distance from
 * its median in most values has no fence: -INFINITY, INFINITY. */
struct outlier_fence outlier_fence(const double *sorted, size_t n, double *room);

size_t outlier_count(const double *values, size_t n, const struct outlier_fence *fence);

#endif
