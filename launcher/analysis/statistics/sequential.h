/* SPDX-License-Identifier: BSD-3-Clause */
/* Group-sequential tests: a hypothesis is tested at a few looks while pairs of runs are added, and
 * all looks together err with probability alpha (Jennison and Turnbull, Group Sequential Methods,
 * 2000). By the look at the fraction t of all information
 *
 *   alpha(t) = 2 (1 - Phi(z(1 - alpha / 2) / sqrt(t)))
 *
 * is spent (Lan and DeMets, Biometrika 70, 1983, like the bounds of O'Brien and Fleming). The
 * recursion of Armitage, McPherson and Rowe (1969) gives the bound of each look for a normal
 * statistic; its nominal level serves for Student's t as well. The bound for futility is not
 * binding: levels hold although a test that is futile continues. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_SEQUENTIAL_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_SEQUENTIAL_H

#include <stdbool.h>
#include <stddef.h>

#define SEQUENTIAL_LOOKS 10

struct sequential {
    size_t nlooks;
    double information[SEQUENTIAL_LOOKS]; /* ascending parts of all; the last is 1 */
    double bound[SEQUENTIAL_LOOKS];       /* of a standard normal statistic */
    double level[SEQUENTIAL_LOOKS];       /* nominal, one-sided: 1 - Phi(bound) */
};

/* Plans looks at ascending numbers of pairs, of one-sided level alpha together. */
void sequential_plan(struct sequential *s, double alpha, const size_t *pairs, size_t nlooks);

/* Returns the probability that a normal statistic crosses one of the upper bounds, if its mean at
 * the last look is drift. */
double sequential_crossing(const struct sequential *s, double drift);

/* Returns the statistic that Student's t with df degrees of freedom is as probable as. */
double sequential_normal(double t, double df);

/* Returns the median-unbiased estimate of the mean in standard errors, if the test ended with
 * Student's t at a look (from 0) by a bound on either side or as the last one. By stagewise
 * ordering (8.4 there) it is the mean for which a result as extreme has probability 1/2; t at the
 * first look. Approximate, as the recursion is that of normal values. */
double sequential_estimate(const struct sequential *s, size_t look, double t, double df);

/* Returns whether the probability that a later look crosses the upper bound is below
 * SEQUENTIAL_FUTILE, if the mean is what the normal statistic z at this look shows; false at the
 * last look. */
bool sequential_is_futile(const struct sequential *s, size_t look, double z);
#define SEQUENTIAL_FUTILE 0.1

#endif
