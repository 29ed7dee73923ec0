/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares two groups of runs, such as those of two counts (numbers of GPUs) or of two series. One
 * method gives the interval and the p-value, so that they never contradict each other. Groups of
 * two runs or more are paired if both have the same seeds and all values are known, and independent
 * otherwise. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_COMPARE_H
#define UNETCTL_LAUNCHER_ANALYSIS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"
#include "launcher/collect/results/quantity.h"
#include "src/err.h"

#define COMPARE_ALPHA 0.05
#define COMPARE_POWER 0.8
/* With this probability the scatter of future runs is below the limit that a number of runs is
 * computed from. */
#define COMPARE_SCATTER_LEVEL 0.8

enum compare_test {
    COMPARE_NONE,          /* no test is possible */
    /* One pair of runs, tested over the same images by Wilcoxon's signed-rank test. The result
     * holds only for these two trained networks. */
    COMPARE_IMAGES,
    COMPARE_PAIRED_T,      /* quality: Student's t over pairs of runs with the same seeds */
    COMPARE_WELCH,         /* quality: Welch's t over runs that are not paired */
    COMPARE_PAIRED_RATIO,  /* times: Student's t of the logarithms of the ratios of pairs */
    COMPARE_FIELLER        /* times: Fieller's interval of runs that are not paired */
};

struct comparison {
    enum compare_test test;
    size_t n;          /* number of pairs, or of runs on the smaller side */
    size_t nimages;    /* number of common images, for COMPARE_IMAGES */
    size_t nfamily;    /* interval and p hold simultaneously with those of so many comparisons */
    double a, b;       /* quality: means of both sides; times: medians */
    double difference; /* b - a */
    struct interval interval; /* of the difference; of times, of the ratio a / b */
    double resolution; /* the steps in which the values were recorded (resolution.h) */
    double df;         /* degrees of freedom of the interval; NaN without one */
    /* standard deviation of a pair's difference, or of a run; of times, relative; NaN: unknown */
    double sd;
    double p;          /* two-sided, corrected by Bonferroni's method; NaN without a test */
    /* The interval excludes that there is no difference; for COMPARE_IMAGES, p is below
     * COMPARE_ALPHA. */
    bool significant;
    double margin;     /* the smallest difference that matters; of times, relative */
    /* there are enough runs to find a difference of margin with power COMPARE_POWER */
    bool enough;
    /* runs per count needed for that; 0: unknown, as no spread was observed, or more than
     * student_needed finds */
    size_t needed;
};

const char *compare_test_name(enum compare_test test);

/* Compares the quality of the rows a[0..na) and b[0..nb), which are sorted by seed, by the
 * difference of the means, as one of nfamily comparisons that are made together. The interval is
 * widened by resolution, the error of a difference of two rounded values, and its standard error
 * is at least that of rounding. Single runs are compared
 * over the same images if both have scores, of at least 6 common images. Returns 0, or -1 if
 * memory ran out. */
int compare_quality(struct comparison *c, const struct result *a, size_t na,
                    const struct result *b, size_t nb, double resolution, double margin,
                    size_t nfamily, struct err *e);

/* Gives the interval and p of a comparison of quality, made with a family of 1, another two-sided
 * level: that of a look of a group-sequential test (sequential.h) at one of nfamily counts, or 0
 * before the first look, which has neither. How many runs are needed becomes unknown. */
void compare_set_level(struct comparison *c, double alpha, size_t nfamily);

/* Compares a time likewise, by the ratio a / b of the medians. margin is relative. */
int compare_times(struct comparison *c, const struct result *a, size_t na, const struct result *b,
                  size_t nb, enum quantity q, double resolution, double margin, size_t nfamily,
                  struct err *e);

/* Returns how many of the rows, sorted by seed, a comparison of quality counts: a row that equals
 * an earlier one in its final and all other losses, and in every score, is the same run again,
 * because the engine ignores the seed. Without losses none is. kept (may be NULL) gets them. */
size_t compare_distinct(const struct result *rows, size_t n, struct result *kept);

/* Returns the runs per count that find a difference of distance among nfamily comparisons, if the
 * standard deviation sd was estimated with df degrees of freedom (INFINITY: it is known); 0 if that
 * is unknown or too large (student_needed). paired: of pairs. */
size_t compare_needed(double sd, double df, double distance, size_t nfamily, bool paired);

#endif
