/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapiro and Wilk's test of normality (Biometrika 52, 1965): W compares the variance that the
 * order statistics of a normal sample would have with the one that there is. Weights and p-value
 * by Royston's approximation (algorithm AS R94, Applied Statistics 44, 1995). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_SHAPIRO_WILK_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_SHAPIRO_WILK_H

#include <stddef.h>

#define SHAPIRO_WILK_FEWEST 3
#define SHAPIRO_WILK_MOST 5000

struct shapiro_wilk {
    double w; /* 1: as normal as can be */
    double p; /* of a W as small, of normal values */
};

/* Both NaN for another number of values, values that are all equal or not finite, or without
 * memory. */
struct shapiro_wilk shapiro_wilk_test(const double *values, size_t n);

/* Fisher's combination (1925) of p[0..n) from independent tests: small when some are. NaN for n =
 * 0; those that are NaN are left out. */
double shapiro_wilk_combine(const double *p, size_t n);

#endif
