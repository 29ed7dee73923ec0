/* SPDX-License-Identifier: BSD-3-Clause */
/* Confidence intervals, and statistics of samples in general.
 *
 * The room computes from arrays of numbers alone. It knows neither runs nor text, reads no file,
 * and draws no random number, so equal values give equal results on every machine. The analysis
 * calls it, and so do the simulations that check its levels
 * (launcher/analysis/test/simulate.c, doc/STATISTICS.md).
 *
 * What cannot be computed is NaN, or an interval of the method INTERVAL_NONE; only where memory
 * may run out does a function return an error. A test names the assumption that it makes, and an
 * interval the method and the level that it reaches.
 *
 * distribution.h has distribution functions and their inverses, on which all else rests; then
 * read this header: proportions, medians and their intervals; then hypothesis.h: Student's t, and
 * tests that look at the data several times. */
#pragma once

#include "src/base.h"

/* A confidence interval and the method that it was computed by (doc/STATISTICS.md). */
#define INTERVAL_LEVEL 0.95 /* the confidence level that intervals are computed for */

enum interval_method {
    /* unknown: low and high are NaN, or 1 for the ratio of the base case to itself */
    INTERVAL_NONE,
    INTERVAL_ORDER,    /* order statistics of a median, for any distribution */
    INTERVAL_FIELLER,  /* ratio of two means of normal values */
    INTERVAL_PAIRS,    /* ratio of pairs of values: Student's t for normal logarithms */
    INTERVAL_T,        /* Student's t for normal values */
    INTERVAL_JACKKNIFE, /* jackknife of a logarithm, with Student's t */
    /* From order statistics of the epochs of one run, or the ratio of two such intervals. It
     * describes these runs only and says nothing of how a repeated run would vary. */
    INTERVAL_EPOCHS
};

struct interval {
    double low, high;
    /* The confidence level that it reaches at least. Where it is one of several that hold
     * simultaneously, this is the level of all together. */
    double level;
    enum interval_method method;
};

struct interval interval_none(void);
/* Returns whether it has ends, which may be infinite: its method is not INTERVAL_NONE. */
bool interval_is_known(const struct interval *i);

/* The methods in words, for a legend: "Fieller (ratio of means, normal values)". */
extern const char *const interval_method_names[];

/* Returns a / b at a joint level of a.level + b.level - 1 (Bonferroni), or no interval if either is
 * unknown or b is not positive. */
struct interval interval_ratio(const struct interval *a, const struct interval *b);

/* The interval of a proportion. */

/* Returns the one-sided upper limit of Clopper and Pearson (Biometrika 26, 1934) for a proportion
 * of which k of n were seen: the p for which P(X <= k) = 1 - level. 1 if k is n, NaN if n is 0. */
double proportion_upper(size_t k, size_t n, double level);
/* Returns the lower limit likewise; 0 if k is 0. */
double proportion_lower(size_t k, size_t n, double level);

/* Medians, outliers, and the interval of a median.
 *
 * The interval is made of order statistics and holds for any continuous distribution. For values
 * x(1) <= ... <= x(n), the interval [x(k), x(n + 1 - k)] covers the median with probability 1 -
 * 2 P(B <= k - 1), where B is the number of heads of n fair coins. The largest k that reaches
 * the level is used (David and Nagaraja, Order Statistics, 7.1). Fewer than 6 values cannot
 * reach 0.95: even [x(1), x(n)] has only the level 1 - 2^(1 - n). */

/* Returns the interval of the median of ascending values without NaN, or none if there are too few
 * for the level. */
struct interval median_interval(const double *sorted, size_t n, double level);

/* Returns the median of sorted values, or NaN if there are none. */
double median_of_sorted(const double *sorted, size_t n);

/* Returns how many values are far from the others. They are reported, never dropped. By Iglewicz
 * and Hoaglin (1993), 0.6745 |x - median| / MAD is above 3.5, where MAD is the median of the
 * distances from the median. Returns 0 for fewer than MEDIAN_OUTLIER_FEWEST values, and if more
 * than half are equal. room is for n values. */
#define MEDIAN_OUTLIER_FEWEST 5
size_t median_count_outliers(const double *sorted, size_t n, double *room);
