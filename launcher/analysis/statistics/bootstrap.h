/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals by resampling (Efron and Tibshirani, An Introduction to the Bootstrap, chapters 13,
 * 14). Random numbers depend only on seed, replicate and index, so that the same data give the
 * same interval on every machine. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_BOOTSTRAP_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "launcher/analysis/statistics/interval.h"
#include "src/err.h"

/* Returns the percentile interval of replicates[0..n). NaN are ignored, and the other values are
 * sorted in place to the front. If more than a tenth are NaN, or n is below 2, there is no
 * interval. */
struct interval bootstrap_percentile(double *replicates, size_t n, double level);

/* Returns the BCa interval: percentiles shifted by the bias z0 (the position of the estimate among
 * the replicates) and the acceleration a (from jackknife[0..njack), the estimates without one
 * observation each). If these are undefined, it is the percentile interval, or none. */
struct interval bootstrap_bca(double *replicates, size_t n, double estimate,
                              const double *jackknife, size_t njack, double level);

/* Computes the BCa interval of median(a) / median(b) for two independent samples; values of b
 * must be positive. There is none if a sample has fewer than 3 values. Returns 0, or -1 if memory
 * ran out. */
int bootstrap_median_ratio(struct interval *dst, const double *a, size_t na, const double *b,
                           size_t nb, uint64_t seed, double level, struct err *e);

#endif
