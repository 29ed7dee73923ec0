/* SPDX-License-Identifier: BSD-3-Clause */
/* Is a difference more than chance? Two groups of runs, paired where they can be. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_COMPARE_H
#define UNETCTL_LAUNCHER_ANALYSIS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/interval.h"
#include "launcher/analysis/quantity.h"
#include "src/buf.h"
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
    double a, b;       /* medians of the sides */
    double difference; /* b - a: mean over pairs (of runs, of images), or of means */
    struct interval interval; /* of the difference */
    double p;          /* two-sided; NaN without a test */
    double p_holm;     /* corrected for the number of comparisons beside it (compare_correct) */
    bool significant;  /* p_holm below COMPARE_ALPHA */
    double margin;     /* difference that matters */
    bool enough;       /* a difference of margin would be found with COMPARE_POWER */
    size_t needed;     /* runs per count for that; 0: not known (no spread was observed) */
};

const char *compare_test_name(enum compare_test test);

/* Quantity q of rows a[0..na) against b[0..nb). IoU is compared over the same images when there is
 * one run on a side and both have scores. */
int compare_runs(struct comparison *c, const struct result *a, size_t na, const struct result *b,
                 size_t nb, enum quantity q, double margin, struct err *e);

/* Holm's correction over n comparisons made together. */
void compare_correct(struct comparison *c, size_t n);

/* "not enough repeats to say: 9 runs per count would show a difference of 0.010" and the like. */
void compare_explain(const struct comparison *c, enum quantity q, struct buf *b);

#endif
