/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank tests. Ties share their rank. p-values are two-sided. They are exact, including ties, for
 * up to RANK_SUM_EXACT values or RANK_SIGNED_EXACT differences; for more, they are the normal
 * approximation with the correction for ties. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANK_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANK_H

#include <stddef.h>

#define RANK_SUM_EXACT 40
#define RANK_SIGNED_EXACT 60

/* Sets twice[i] to double the rank of values[i], counted from 1. Equal values share the mean of
 * their ranks, which is an integer only if doubled. *ties becomes the sum of t^3 - t over groups
 * of t equal values. Returns 0, or -1 if memory ran out. */
int rank_assign(const double *values, size_t n, size_t *twice, double *ties);

/* The test of Mann, Whitney and Wilcoxon for two independent samples. Returns the p-value, or
 * NaN if a sample is empty or memory ran out. */
double rank_sum_test(const double *a, size_t na, const double *b, size_t nb);

/* Wilcoxon's signed-rank test of paired differences (Biometrics 1, 1945), ignoring differences
 * of 0. Returns the p-value: 1 if all are 0, NaN if n is 0 or memory ran out. */
double rank_signed_test(const double *differences, size_t n);

#endif
