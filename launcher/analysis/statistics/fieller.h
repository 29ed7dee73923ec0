/* SPDX-License-Identifier: BSD-3-Clause */
/* Fieller's interval for the ratio of two means of independent normal samples (J. R. Stat. Soc. B
 * 16, 1954): all ratios r for which the mean of a - r b is not significantly different from 0,
 *
 *   (A - r B)^2 <= t^2 (sa^2 / na + r^2 sb^2 / nb),
 *
 * with t of the degrees of freedom that Welch and Satterthwaite give at r = A / B, so that the
 * samples may scatter differently. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_FIELLER_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_FIELLER_H

#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"

/* None when a sample has fewer than 2 values, or b is not clearly different from 0 (the interval
 * would be unbounded). Samples without any scatter give an interval of width 0. */
struct interval fieller_interval(const double *a, size_t na, const double *b, size_t nb,
                                 double level);

#endif
