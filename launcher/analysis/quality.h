/* SPDX-License-Identifier: BSD-3-Clause */
/* The quality of each count of a series, judged against the base case. Lower, below and falls are
 * said of a quality of which more is better, and mean the opposite of one of which less is.
 *
 * A run has collapsed if its quality is IoU or accuracy and more than QUALITY_COLLAPSE margins
 * below the median of the base case. A count collapses if a larger share of its runs has than of
 * the base case's.
 * Otherwise the runs that have not collapsed are compared by the interval of the change of their
 * mean, simultaneous over all counts: quality holds if it lies above -margin, falls if it lies
 * below that, and is undecided otherwise, also where a side has one run. It does not hold if the
 * steps in which it was recorded are coarser than a part of the margin. Quality that was not
 * recorded, or is not comparable, is unknown. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_QUALITY_H
#define UNETCTL_LAUNCHER_ANALYSIS_QUALITY_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/compare.h"
#include "launcher/analysis/series.h"
#include "src/err.h"

#define QUALITY_COLLAPSE 10    /* margins */
#define QUALITY_COARSE 0.2     /* the largest step, as a part of the margin, that is compared */
#define QUALITY_SCATTER 0.01   /* assumed standard deviation over seeds where none was seen */
/* a smaller gain over predicting one class everywhere does not count */
#define QUALITY_BLIND 0.005
#define QUALITY_LEARNT 0.1     /* a network of lower quality has not learnt its task */

enum quality_state {
    QUALITY_UNKNOWN,   /* not recorded, or not comparable; why says it */
    QUALITY_HOLDS,
    QUALITY_UNDECIDED, /* why says what is missing, unless it is runs */
    QUALITY_FALLS,
    QUALITY_COLLAPSES
};

#define QUALITY_LOOKS 4 /* the most counts of a sequential design */
#define QUALITY_EQUAL 1e-3 /* relative difference of equal losses */

/* The last look at a count in a sequential design (design.h). */
struct quality_look {
    int gpus;
    size_t look, pairs; /* look from 1; 0: there was none yet. No pairs: the first is not over */
    long last_seed;     /* later seeds belong to the next look */
    double alpha;       /* two-sided nominal level of this look */
    bool shared;        /* quality holds by construction if losses of equal seeds are equal */
};

struct quality_looks {
    struct quality_look items[QUALITY_LOOKS];
    size_t n, family; /* family: counts that might have been tested */
};

struct quality {
    enum quality_state state;
    const char *why;          /* "not recorded", "recorded too coarsely ..."; NULL */
    struct comparison change; /* from the base case; empty for the base case itself */
    size_t nruns;             /* distinct runs (compare_distinct) whose quality is known */
    size_t ncollapsed;        /* of them, those that have collapsed */
    double collapse_most;     /* 95 % upper limit of the share that collapses (proportion.h) */
    size_t nrepeats;          /* runs that repeat another seed's */
    /* The first losses of runs of equal seeds differ by at most QUALITY_EQUAL, and quality is not
     * tested. */
    bool by_construction;
};

/* Returns "holds", "undecided", ... or "holds by construction". */
const char *quality_state_name(const struct quality *q);

/* Returns whether r is at most as good as predicting one class everywhere, which is called blind;
 * false if that is unknown. */
bool quality_is_blind(const struct result *r);

/* Returns whether IoU or accuracy were recorded, and those of no count reach QUALITY_LEARNT. */
bool quality_is_unlearnt(const struct series *s);

/* Returns "falls", or of a quality of which less is better "rises". */
const char *quality_fall_word(const struct series *s);

/* Returns by how much worse a change of the quality is: -change, or change if less is better. */
double quality_loss(const struct series *s, double change);
/* Returns what that makes of an interval of changes. */
struct interval quality_losses(const struct series *s, const struct interval *changes);

/* Judges the quality of all points; dst has one element per point. looks: of a sequential design,
 * whose counts are compared over pairs of equal seeds by repeated confidence intervals, and whose
 * other counts are undecided; NULL: the sample is fixed. Returns 0, or -1 if memory ran out. */
int quality_compute(struct quality *dst, const struct series *s, double margin,
                    const struct quality_looks *looks, struct err *e);

#endif
