/* SPDX-License-Identifier: BSD-3-Clause */
/* Holm's correction of several p-values made together (Scand. J. Stat. 6, 1979). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_HOLM_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_HOLM_H

#include <stddef.h>

/* dst[i]: the corrected p[i]. NaN are no tests: they stay and are not counted. 0; -1 without
 * memory. */
int holm_correct(const double *p, size_t n, double *dst);

#endif
