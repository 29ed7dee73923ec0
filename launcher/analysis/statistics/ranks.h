/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks with ties. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANKS_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_RANKS_H

#include <stddef.h>

/* twice[i]: double the rank of values[i], from 2; equal values share the mean of their ranks, so
 * that doubled it is whole. *ties: sum of t^3 - t over groups of t equal values. 0; -1 without
 * memory. */
int ranks_assign(const double *values, size_t n, size_t *twice, double *ties);

#endif
