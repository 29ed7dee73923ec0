/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of small samples. Undefined results are NaN: any statistic of no values, the
 * deviation of one value, and all statistics of a sample with a NaN. src is not changed. */
#ifndef UNETCTL_SRC_STAT_H
#define UNETCTL_SRC_STAT_H

#include <stddef.h>

double stat_mean(const double *src, size_t n);

/* Sample standard deviation, n - 1 in the denominator, two passes. */
double stat_stddev(const double *src, size_t n);

/* Also NaN if memory runs out. */
double stat_median(const double *src, size_t n);

#endif
