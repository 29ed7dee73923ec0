/* SPDX-License-Identifier: BSD-3-Clause */
/* The interval of a proportion. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_PROPORTION_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_PROPORTION_H

#include <stddef.h>

/* Returns the one-sided upper limit of Clopper and Pearson (Biometrika 26, 1934) for a proportion
 * of which k of n were seen: the p for which P(X <= k) = 1 - level. 1 if k is n, NaN if n is 0. */
double proportion_upper(size_t k, size_t n, double level);

#endif
