/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank tests. Ties share their rank. p-values are two-sided, and exact, ties included, for up to
 * RANK_SUM_EXACT values or RANK_SIGNED_EXACT differences; above, the normal approximation with the
 * correction for ties. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANK_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANK_H

#include <stddef.h>

#define RANK_SUM_EXACT 40
#define RANK_SIGNED_EXACT 60

/* twice[i]: double the rank of values[i], from 2; equal values share the mean of their ranks, so
 * that doubled it is whole. *ties: sum of t^3 - t over groups of t equal values. 0; -1 without
 * memory. */
int rank_assign(const double *values, size_t n, size_t *twice, double *ties);

/* Mann, Whitney and Wilcoxon's test of two independent samples. NaN when a sample is empty or
 * without memory. */
double rank_sum_test(const double *a, size_t na, const double *b, size_t nb);

/* Wilcoxon's signed-rank test of paired differences (Biometrics 1, 1945), without those that are 0;
 * 1 when all are. NaN for n = 0 or without memory. */
double rank_signed_test(const double *differences, size_t n);

#endif
