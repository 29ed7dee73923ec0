/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of hypotheses, and the intervals that belong to them. */
#pragma once

#include "src/base.h"

#include "launcher/analysis/statistics/interval.h"

/* Student's t: tests and intervals of means and of their ratios, and the number of repetitions
 * that they need. Values are assumed to be normal, which a handful of runs can neither confirm
 * nor refute. */

struct student {
    double mean;              /* of the differences, or mean of b minus mean of a */
    double df;                /* degrees of freedom; NaN if undefined */
    double error;             /* standard error of the mean; NaN if undefined */
    struct interval interval; /* of the mean */
};

/* Returns the two-sided p-value for a mean of 0. Errors below `least` count as that: rounding hides
 * smaller ones. NaN if it is undefined. */
double student_p(const struct student *s, double least);

/* The mean of one sample of differences. */
struct student student_paired(const double *differences, size_t n, double level);

/* Compares two independent samples, whose variances may differ (Welch 1947). */
struct student student_welch(const double *a, size_t na, const double *b, size_t nb, double level);

/* Returns Fieller's interval for the ratio of the means of two independent samples (J. R. Stat.
 * Soc. B 16, 1954): all ratios r for which the mean of a - r b does not differ significantly
 * from 0,
 *
 *   (A - r B)^2 <= t^2 (sa^2 / na + r^2 sb^2 / nb),
 *
 * where t has the degrees of freedom of Welch and Satterthwaite at r = A / B, so that the
 * variances may differ. There is no interval if a sample has fewer than 2 values, or if b does
 * not differ clearly from 0 (the interval would be unbounded). Samples without scatter give an
 * interval of width 0. */
struct interval student_ratio(const double *a, size_t na, const double *b, size_t nb, double level);

/* Returns the p-value for equal means that belongs to Fieller's interval: it is below 1 - level
 * just where that does not contain 1. least is as for student_p. */
double student_ratio_p(const double *a, size_t na, const double *b, size_t nb, double least);

/* Returns the standard deviation that the true one exceeds with a probability of 1 - level, if sd
 * was estimated with df degrees of freedom. */
double student_upper_sd(double sd, double df, double level);

/* Returns the smallest number of pairs (nsamples 1), or of values in each sample (2), for which a
 * two-sided test at alpha finds a difference with the given power, if single differences (or
 * values) have the standard deviation sd:
 *
 *   n >= nsamples (t(1 - alpha/2, df) + t(power, df))^2 sd^2 / difference^2, df = nsamples (n - 1).
 *
 * At least 2. Returns 0 if sd is unknown, if difference is 0, or if more than 2^19 are needed. */
size_t student_needed(double sd, double difference, double alpha, double power, int nsamples);

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
