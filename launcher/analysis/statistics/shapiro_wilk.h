/* SPDX-License-Identifier: BSD-3-Clause */
/* The test of normality of Shapiro and Wilk (Biometrika 52, 1965). W compares the variance that
 * the order statistics of a normal sample would have with the actual variance. Weights and
 * p-value are Royston's approximation (algorithm AS R94, Applied Statistics 44, 1995). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_SHAPIRO_WILK_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_SHAPIRO_WILK_H

#include <stddef.h>

#define SHAPIRO_WILK_FEWEST 3
#define SHAPIRO_WILK_MOST 5000

struct shapiro_wilk {
    double w; /* 1 for values exactly as expected of a normal distribution */
    double p; /* the probability of such a small W for normal values */
};

/* Both members are NaN if n is out of range, values are all equal or not finite, or memory ran
 * out. */
struct shapiro_wilk shapiro_wilk_test(const double *values, size_t n);

/* Fisher's combination (1925) of p[0..n) from independent tests, which is small if some of them
 * are. NaN are ignored. Returns NaN if n is 0 or all are NaN. */
double shapiro_wilk_combine(const double *p, size_t n);

#endif
