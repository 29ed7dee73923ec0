/* SPDX-License-Identifier: BSD-3-Clause */
/* Wilcoxon's signed-rank test of paired differences (Biometrics 1, 1945). Zeros are left out, ties
 * share their rank. The p-value is exact, ties included, for up to SIGNED_RANK_EXACT differences:
 * all 2^n signs are counted by their sum of ranks; above, the normal approximation with the
 * correction for ties. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_SIGNED_RANK_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_SIGNED_RANK_H

#include <stddef.h>

#define SIGNED_RANK_EXACT 60

/* Two-sided; 1 when all differences are 0. NaN for n = 0 or without memory. */
double signed_rank_test(const double *differences, size_t n);

#endif
