/* SPDX-License-Identifier: BSD-3-Clause */
/* Distribution functions and their inverses, with relative errors below 1e-10 in the ranges that
 * intervals and tests need. */
#pragma once

#include "src/base.h"

double distribution_normal_cdf(double x);
double distribution_normal_quantile(double p); /* NaN unless p is in (0, 1) */

/* The regularized incomplete beta function I_x(a, b), for a, b > 0. */
double distribution_beta_cdf(double x, double a, double b);

/* Student's t with df > 0 degrees of freedom, not necessarily an integer. */
double distribution_t_cdf(double t, double df);
double distribution_t_quantile(double p, double df); /* NaN unless p is in (0, 1) and df > 0 */

/* The p-quantile of chi-square with df > 0 degrees of freedom, not necessarily an integer. NaN
 * unless p is in (0, 1). */
double distribution_chi_square_quantile(double p, double df);

/* P(X <= k), where X is the number of heads of n fair coins. */
double distribution_coins_cdf(long k, size_t n);

/* The resolution of recorded values: the steps in which they were rounded. */

#define RESOLUTION_FINEST 1e-6

/* Returns the step of which all n values are multiples: any, such as 60, 1, 0.25 or 1/12, that the
 * values do not have by chance (1 %), or at least the largest of 1, 0.1, 0.01 ...
 * RESOLUTION_FINEST. Where it is a power of ten or the values are few, a single value decides.
 * Single precision is taken into account. */
double resolution_of(const double *values, size_t n);
