/* SPDX-License-Identifier: BSD-3-Clause */
/* Student's t: tests and intervals of means and of their ratios, and the number of repetitions
 * that they need. Values are assumed to be normal, which a handful of runs can neither confirm
 * nor refute. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_STUDENT_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_STUDENT_H

#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"

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

#endif
