/* SPDX-License-Identifier: BSD-3-Clause */
/* Is a difference more than chance? Two groups of runs: paired where both have the same seeds,
 * otherwise independent. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_COMPARE_H
#define UNETCTL_LAUNCHER_ANALYSIS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"
#include "launcher/collect/results/quantity.h"
#include "src/err.h"

#define COMPARE_ALPHA 0.05
#define COMPARE_POWER 0.8

enum compare_test {
    COMPARE_NONE,          /* nothing to test by */
    COMPARE_IMAGES,        /* one pair of runs, the same images: Wilcoxon signed-rank over images.
                            * Holds for these two trained networks only */
    COMPARE_PAIRED_T,      /* 2 to 9 pairs of runs with equal seeds */
    COMPARE_SIGNED_RANK,   /* 10 pairs or more: Wilcoxon signed-rank */
    COMPARE_WELCH,         /* runs without common seeds, a side has fewer than 6 */
    COMPARE_RANK_SUM       /* runs without common seeds: Mann-Whitney */
};

struct comparison {
    enum compare_test test;
    size_t n;          /* pairs, or runs of the smaller side */
    size_t nimages;    /* common images, of COMPARE_IMAGES */
    double a, b;       /* means of the sides */
    double difference; /* b - a */
    struct interval interval; /* of the difference over runs; simultaneous after
                               * compare_correct */
    double df;         /* degrees of freedom of the interval; NaN where there is none */
    double sd;         /* standard deviation of a pair's difference, or of a run; NaN: not known */
    double p;          /* two-sided; NaN without a test */
    double p_holm;     /* corrected for the number of comparisons beside it (compare_correct) */
    bool significant;  /* p_holm below COMPARE_ALPHA */
    double margin;     /* difference that matters */
    bool enough;       /* runs suffice to find a difference of margin with COMPARE_POWER */
    size_t needed;     /* runs per count for that; 0: not known (no spread was observed) */
};

const char *compare_test_name(enum compare_test test);

/* Quantity q of rows a[0..na) against b[0..nb). IoU is compared over the same images when there is
 * one run on a side and both have scores. */
int compare_runs(struct comparison *c, const struct result *a, size_t na, const struct result *b,
                 size_t nb, enum quantity q, double margin, struct err *e);

/* Runs per count that find a difference of `distance` among nfamily comparisons made together. */
size_t compare_needed(const struct comparison *c, double distance, size_t nfamily);

/* Corrections over n comparisons made together: p by Holm; intervals and needed by Bonferroni. */
void compare_correct(struct comparison *c, size_t n);

#endif
