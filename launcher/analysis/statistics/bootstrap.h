/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals by resampling (Efron and Tibshirani, An Introduction to the Bootstrap, chapters 13,
 * 14). Random numbers are a function of seed, replicate and place: the same data give the same
 * interval on every machine. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_BOOTSTRAP_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "launcher/analysis/statistics/interval.h"
#include "src/err.h"

/* The percentile interval of replicates[0..n), which are sorted in place. Those that are NaN are
 * left out; none when they are more than a tenth. */
struct interval bootstrap_percentile(double *replicates, size_t n, double level);

/* The BCa interval: percentiles moved by the bias z0 (how the replicates lie around the estimate)
 * and the acceleration a (from jackknife[0..njack), the estimate without each observation). The
 * percentile interval where these are undefined. */
struct interval bootstrap_bca(double *replicates, size_t n, double estimate,
                              const double *jackknife, size_t njack, double level);

/* BCa interval of median(a) / median(b), two independent samples; b above 0. 0; -1 without
 * memory. */
int bootstrap_median_ratio(struct interval *dst, const double *a, size_t na, const double *b,
                           size_t nb, uint64_t seed, double level, struct err *e);

#endif
