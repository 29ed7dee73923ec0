/* SPDX-License-Identifier: BSD-3-Clause */
/* Wilcoxon's signed-rank test. Ties share their rank; values that differ by less than 1e-12 are
 * ties, because differences of decimal numbers are rounded. The p-value is two-sided. It is exact,
 * including ties, for up to RANK_SIGNED_EXACT differences; for more, it is the normal
 * approximation with the correction for ties. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANK_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANK_H

#include <stddef.h>

#define RANK_SIGNED_EXACT 60

/* Sets twice[i] to double the rank of values[i], counted from 1. Equal values share the mean of
 * their ranks, which is an integer only if doubled. *ties becomes the sum of t^3 - t over groups
 * of t equal values. Returns 0, or -1 if memory ran out. */
int rank_assign(const double *values, size_t n, size_t *twice, double *ties);

/* Wilcoxon's signed-rank test of paired differences (Biometrics 1, 1945), ignoring differences
 * of 0. Returns the p-value: 1 if all are 0, NaN if n is 0 or memory ran out. */
double rank_signed_test(const double *differences, size_t n);

#endif
