/* SPDX-License-Identifier: BSD-3-Clause */
/* An interval of confidence, and how it came about (doc/STATISTICS.md). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_INTERVAL_H
#define UNETCTL_LAUNCHER_ANALYSIS_STATISTICS_INTERVAL_H

#include <stdbool.h>

#define INTERVAL_LEVEL 0.95 /* what is asked for */

enum interval_method {
    INTERVAL_NONE,     /* not known: low and high are NaN */
    INTERVAL_ORDER,    /* order statistics of a median, any distribution */
    INTERVAL_FIELLER,  /* ratio of two means, normal values */
    INTERVAL_BCA,      /* bootstrap, bias-corrected and accelerated */
    INTERVAL_PERCENTILE, /* bootstrap */
    INTERVAL_T,        /* Student's t, normal values */
    INTERVAL_JACKKNIFE, /* jackknife of a logarithm, Student's t */
    INTERVAL_EPOCHS /* ratio of two order-statistic intervals over the epochs of single runs: holds
                        * for these runs, not for the next one */
};

struct interval {
    double low, high;
    double level; /* of confidence that it reaches: below INTERVAL_LEVEL for too small a sample */
    enum interval_method method;
};

struct interval interval_none(void);
bool interval_is_known(const struct interval *i);

/* In words, for a legend: "Fieller (ratio of means, normal values)". */
const char *interval_method_name(enum interval_method method);

/* a / b where both are known, at a joint level of a.level + b.level - 1 (Bonferroni); b above 0. */
struct interval interval_ratio(const struct interval *a, const struct interval *b);

#endif
