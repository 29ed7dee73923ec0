/* SPDX-License-Identifier: BSD-3-Clause */
/* A confidence interval and the method that it was computed by (doc/STATISTICS.md). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_INTERVAL_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_INTERVAL_H

#include <stdbool.h>

#define INTERVAL_LEVEL 0.95 /* the confidence level that intervals are computed for */

enum interval_method {
    /* unknown: low and high are NaN, or 1 for the ratio of the base case to itself */
    INTERVAL_NONE,
    INTERVAL_ORDER,    /* order statistics of a median, for any distribution */
    INTERVAL_FIELLER,  /* ratio of two means of normal values */
    INTERVAL_PAIRS,    /* ratio of pairs of values: Student's t for normal logarithms */
    INTERVAL_BCA,      /* bias-corrected and accelerated bootstrap */
    INTERVAL_PERCENTILE, /* percentiles of a bootstrap */
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

/* Returns the method in words, for a legend: "Fieller (ratio of means, normal values)". */
const char *interval_method_name(enum interval_method method);

/* Returns a / b at a joint level of a.level + b.level - 1 (Bonferroni), or no interval if either is
 * unknown or b is not positive. */
struct interval interval_ratio(const struct interval *a, const struct interval *b);

#endif
