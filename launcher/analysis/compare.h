/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests whether the difference between two groups of runs, such as those of two counts (numbers of
 * GPUs), is more than chance. Groups of two runs or more are paired if both have the same seeds and
 * all values are known, and independent otherwise. */
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
    COMPARE_NONE,          /* no test is possible */
    /* One pair of runs, tested over the same images by Wilcoxon's signed-rank test. The result
     * holds only for these two trained networks. */
    COMPARE_IMAGES,
    COMPARE_PAIRED_T,      /* 2 to 9 pairs of runs with the same seeds */
    COMPARE_SIGNED_RANK,   /* 10 pairs or more: Wilcoxon's signed-rank test */
    COMPARE_WELCH,         /* runs that are not paired; one side has fewer than 6 */
    COMPARE_RANK_SUM       /* runs that are not paired: Mann and Whitney's test */
};

struct comparison {
    enum compare_test test;
    size_t n;          /* number of pairs, or of runs on the smaller side */
    size_t nimages;    /* number of common images, for COMPARE_IMAGES */
    double a, b;       /* means of both sides */
    double difference; /* b - a */
    struct interval interval; /* Of the difference over runs; simultaneous after compare_correct. */
    double df;         /* degrees of freedom of the interval; NaN without one */
    double sd;         /* standard deviation of a pair's difference, or of a run; NaN: unknown */
    double p;          /* two-sided; NaN without a test */
    double p_holm;     /* corrected for the number of comparisons by compare_correct */
    bool significant;  /* p_holm below COMPARE_ALPHA */
    double margin;     /* the smallest difference that matters */
    /* there are enough runs to find a difference of margin with power COMPARE_POWER */
    bool enough;
    /* runs per count needed for that; 0: unknown, as no spread was observed, or more than
     * student_needed finds */
    size_t needed;
};

const char *compare_test_name(enum compare_test test);

/* Compares quantity q of the rows a[0..na) and b[0..nb), which are sorted by seed. IoU is compared
 * over the same images if each side has one run and both have scores, of at least 6 common images.
 * Returns 0, or -1 if memory ran out. */
int compare_runs(struct comparison *c, const struct result *a, size_t na, const struct result *b,
                 size_t nb, enum quantity q, double margin, struct err *e);

/* Returns the runs per count that are needed to find a difference of distance among nfamily
 * comparisons made together, or 0 if that is unknown or too large (student_needed). */
size_t compare_needed(const struct comparison *c, double distance, size_t nfamily);

/* Corrects n comparisons made together: p by Holm's method, intervals and needed by
 * Bonferroni's. */
void compare_correct(struct comparison *c, size_t n);

#endif
