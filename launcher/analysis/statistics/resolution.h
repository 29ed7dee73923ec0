/* SPDX-License-Identifier: BSD-3-Clause */
/* The resolution of recorded values: the steps in which they were rounded. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RESOLUTION_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RESOLUTION_H

#include <stddef.h>

#define RESOLUTION_FINEST 1e-6

/* Returns the largest of 1, 0.1, 0.01 ... RESOLUTION_FINEST of which all n values are multiples, or
 * RESOLUTION_FINEST if there is none. Single precision is taken into account. */
double resolution_of(const double *values, size_t n);

#endif
