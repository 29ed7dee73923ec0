/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank-sum test of Mann, Whitney and Wilcoxon for two independent samples. Ties share their
 * rank. Exact, ties included, for up to RANK_SUM_EXACT values together: all choices of na ranks
 * are counted by their sum; above, the normal approximation with the correction for ties. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANK_SUM_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANK_SUM_H

#include <stddef.h>

#define RANK_SUM_EXACT 40

/* Two-sided; NaN when a sample is empty or without memory. */
double rank_sum_test(const double *a, size_t na, const double *b, size_t nb);

#endif
