/* SPDX-License-Identifier: BSD-3-Clause */
/* Student's t: tests and intervals of means and of their ratios, and how many repeats they need.
 * Values are assumed to be normal, which a handful of runs can neither show nor refute. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_STUDENT_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_STUDENT_H

#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"

struct student {
    double mean;              /* of the differences, or of b less that of a */
    double df;                /* degrees of freedom; NaN as p */
    double p;                 /* two-sided, of no difference; NaN when undefined */
    struct interval interval; /* of the mean */
};

/* One sample of differences, against 0. */
struct student student_paired(const double *differences, size_t n, double level);

/* Two independent samples which may scatter differently (Welch 1947). */
struct student student_welch(const double *a, size_t na, const double *b, size_t nb, double level);

/* Fieller's interval for the ratio of the means of two independent samples (J. R. Stat. Soc. B 16,
 * 1954): all ratios r for which the mean of a - r b is not significantly different from 0,
 *
 *   (A - r B)^2 <= t^2 (sa^2 / na + r^2 sb^2 / nb),
 *
 * with t of the degrees of freedom that Welch and Satterthwaite give at r = A / B, so that the
 * samples may scatter differently. None when a sample has fewer than 2 values, or b is not clearly
 * different from 0 (the interval would be unbounded). Width 0 for samples without scatter. */
struct interval student_ratio(const double *a, size_t na, const double *b, size_t nb, double level);

/* The fewest pairs (nsamples 1) or values in each sample (2) with which a two-sided test at alpha
 * finds a difference with the given power, when single differences (or values) scatter by sd:
 *   n >= nsamples (t(1 - alpha/2, df) + t(power, df))^2 sd^2 / difference^2, df = nsamples (n - 1).
 * At least 2; 0 when sd is not known or more than a million are needed. */
size_t student_needed(double sd, double difference, double alpha, double power, int nsamples);

#endif
