/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated studies whose truth is known show how often the statements of the analysis are right.
 *
 * An area is a list of cases (a law of times or qualities, its noise, the number of runs) and a
 * list of statements. For each simulated study of a case, an area says how each statement fared: 1
 * or 0, a share, or an error. The frame (simulate.c) repeats that, in several processes, and prints
 * the mean or the median of each statement in each case, with its Monte Carlo standard error. A
 * statement may have a promise, which fails if it is missed by more than three standard errors. */
#pragma once

#include "src/base.h"

#include <math.h>

#include "launcher/analysis/analysis.h"

enum simulate_promise {
    SIMULATE_SHOWN,        /* nothing is promised; the mean is shown */
    SIMULATE_SHOWN_MEDIAN, /* nothing is promised; the median is shown */
    SIMULATE_AT_LEAST,     /* the mean is at least the bound */
    SIMULATE_AT_MOST,      /* the mean is at most the bound */
    SIMULATE_MEDIAN_WITHIN /* the median lies within -bound and bound */
};

struct simulate_statement {
    const char *name; /* a few words: the head of a column */
    enum simulate_promise promise;
    double bound;
};

struct simulate_area {
    const char *name; /* one word, by which it is chosen */
    const char *what; /* a sentence about its cases and statements */
    const struct simulate_statement *statements;
    size_t nstatements, ncases;
    size_t quick; /* studies of a case: make check has half of them, EXHAUSTIVE three times */
    size_t times; /* in tables, studies are so many times those asked for; 0: as 1 */
    void (*describe)(size_t i, char *dst, size_t size); /* case i in a few words */
    /* Simulates one study of case i; the numbers of studies are unique over all areas. Sets
     * values[k] for each statement k, which is NaN beforehand and remains so if the study does not
     * make the statement. */
    void (*study)(size_t i, uint64_t study, double *values);
    /* Returns whether the promise of statement k is made in case i. NULL: all are. */
    bool (*promised)(size_t i, size_t k);
};

/* Each is defined in simulate_NAME.c, and listed in simulate.c. */
extern const struct simulate_area simulate_collapse, simulate_efficiency, simulate_gap,
    simulate_needed, simulate_pairs, simulate_prediction, simulate_published, simulate_quality,
    simulate_sequential, simulate_speedup, simulate_target, simulate_warmup;

/* The numbers of GPUs of most areas: 1, 2, 4 and 8. */
#define SIMULATE_NCOUNTS 4
extern const int simulate_counts[SIMULATE_NCOUNTS];

/* What a study is made of. */
struct simulate_design {
    const int *counts; /* numbers of GPUs, ascending; NULL: simulate_counts */
    size_t ncounts;
    long runs; /* per count */
    double (*time)(int gpus); /* true seconds of a steady epoch; NULL: 20 / gpus */
    double noise;             /* relative standard deviation of a run's times */
    double noise_seed;        /* the same of a factor that a seed has at all counts */
    double skewed;            /* with this probability a run is slower by 10 noises */
    bool grows;               /* noise is that of 1 GPU, and in proportion to their number */
    bool heavy;               /* noise has Student's t of 3 degrees of freedom */
    double clock;             /* times are rounded to multiples of this; 0: not rounded */
    double quality;           /* true quality of the base case */
    double fall;              /* by how much it is lower at counts from falls_from on */
    int falls_from;           /* a number of GPUs; 0: none */
    double scatter;           /* standard deviation of a run's quality */
    double scatter_seed;      /* the same of a term that a seed has at all counts */
    double collapse;          /* probability that a run on several GPUs collapses */
    bool collapse_all;        /* or on any number */
    size_t epochs;            /* of a run's curve, which scatter by 0.3 %; 0: no curve */
    double resolution;        /* qualities are rounded to multiples of this; 0: not rounded */
    bool lower;               /* quality is a loss, 2 less what it would be */
    bool one_seed;            /* the engine ignores the seed: all runs of a count are equal */
    bool shared_seeds;        /* what a seed has is the same for all engines of a study */
};

/* Writes the name of a case: a law and a number of runs. */
void simulate_name_case(char *dst, size_t size, const char *law, long runs);

/* Adds the runs of a study to table. */
void simulate_fill(struct results *table, const struct simulate_design *d, const char *engine,
                   uint64_t study);

/* A study and its analysis. */
struct simulate_study {
    struct analysis_source source;
    struct analysis analysis;
};

/* Fills a study with one engine and analyses it. */
void simulate_create(struct simulate_study *s, const struct simulate_design *d, uint64_t study);
/* Analyses s->source, whose results are sorted first. options may be NULL. Ends the program on an
 * error. */
void simulate_analyse(struct simulate_study *s, const struct analysis_options *options);
void simulate_destroy(struct simulate_study *s);
