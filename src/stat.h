/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of small samples. The result is NaN where it is undefined: any statistic of no
 * values or of a sample that contains NaN, and the deviation of one value. */
#pragma once

#include "src/base.h"

double stat_mean(const double *src, size_t n);

/* Sorts values in place, ascending; there is no NaN among them. */
void stat_sort(double *values, size_t n);

/* Returns whether both are equal, or both NaN. */
bool stat_are_same(double a, double b);

/* Sample standard deviation (denominator n - 1), computed in two passes. */
double stat_stddev(const double *src, size_t n);

/* NaN also if memory runs out. */
double stat_median(const double *src, size_t n);
