/* SPDX-License-Identifier: BSD-3-Clause */
/* The cheapest study that decides how many GPUs to use: after each round of runs, which runs come
 * next, or what is decided. A count is a number of GPUs; the base case is the smallest.
 *
 * A look is an analysis that may decide; a test that looks several times spends its level over
 * them (hypothesis.h).
 *
 * Speed first, by short runs (limit.*): of the base case, the middle and the largest count (before
 * them one of the base case, if start-up might exceed the budget unseen), then more runs where the
 * interval of an efficiency includes the threshold, then counts between the largest that passes and
 * the next larger one (the middle of ratios), then counts that the model of time knows least of and
 * that may be faster. Each round has base runs of its own, and a count is compared with those of
 * its rounds only, so that a drift between rounds cancels. An outlier, a run that differs by more
 * than DESIGN_OUTLIER from the median of its count, is repeated once before its count is decided.
 * An efficiency has up to DESIGN_SPEED_NLOOKS looks by the group-sequential test that also serves
 * quality; all counts that may be measured divide its level.
 *
 * Then quality, by whole runs of the base case and the fastest efficient count, in a
 * group-sequential test of non-inferiority (hypothesis.h) at planned numbers of pairs of equal
 * seeds. If quality is not shown to hold, the counts below are bisected: the next is the middle one
 * of those between the largest that holds and the smallest that does not. The tests that this
 * takes, 1 + log2 of the counts that may be tested and at most DESIGN_TESTED, divide the level;
 * their number is fixed before the first whole run. Counts that are shown not to be efficient never
 * run in full. Where runs of a count collapse, but not so many that it is shown, no smaller count
 * is tried: one that has no such run would be lucky rather than better.
 *
 * If quality never rises with the GPUs, the tests up to the first wrong "holds" are determined: a
 * count that loses too much leads to a smaller one, another one that holds to a larger one, and
 * below one that is not shown to hold, all hold. So the sum of their levels bounds the error.
 *
 * launcher/rounds calls design_next after each round and submits what it asks for; plan shows what
 * a study will cost by design_expect. The room submits and reads nothing itself: the rounds made
 * and the table of results are all that an answer depends on. design_view.c has what is known after
 * the rounds, design.c what follows, and below it the simulation. */
#pragma once

#include "src/base.h"

#include <math.h>

#include "launcher/analysis/decision.h"
#include "launcher/analysis/model/model.h"
#include "launcher/analysis/series.h"
#include "launcher/analysis/statistics/hypothesis.h"

#define DESIGN_COUNTS 64
#define DESIGN_SEEDS 256
#define DESIGN_TESTED QUALITY_LOOKS /* the most counts whose quality is tested */
#define DESIGN_RUNS 192             /* the most runs of a round */
#define DESIGN_ALPHA 0.025          /* one-sided, of all counts and looks together */
#define DESIGN_ROUNDS 200           /* no design has more */
#define DESIGN_SPEED_NLOOKS 4       /* looks at a count, when it has this many short runs: */
#define DESIGN_SPEED_LOOKS {6, 8, 12, 16}
#define DESIGN_OUTLIER 0.2          /* a short run that differs by more is repeated */
#define DESIGN_RESERVE 0.5          /* of runs whose start-up and evaluation are unknown */
#define DESIGN_UNKNOWN 6            /* a short run may take this many times what is assumed */
#define DESIGN_TIME_MARGIN 0.05     /* a count that is faster by less is not looked for */

/* What is asked, and what is assumed until it is measured. */
struct design {
    int counts[DESIGN_COUNTS]; /* candidates, ascending; [0] is the base case */
    size_t ncounts;
    long seeds[DESIGN_SEEDS];  /* ascending, as many as the last look has pairs or more */
    size_t nseeds;
    size_t looks[SEQUENTIAL_LOOKS]; /* pairs at each look, ascending */
    size_t nlooks;
    double max_gpu_hours;       /* INFINITY: no limit */
    struct decision_rule rule;  /* its looks are not used */
    struct series_facts facts;  /* its base is not used */
    bool quality;               /* false: the outcome is by speed alone */
    /* All GPUs together have the batch and the statistics of one (strong scaling, synchronised
     * norm), so quality may hold by construction. */
    bool shared;
    double short_s;             /* seconds of a short run, assumed until one is measured */
    double whole_s;             /* the same of a whole run of the base case; 0: unknown */
    long epochs;                /* of a whole run; 0: unknown */
};
#define DESIGN_INIT                                                                            \
    {.looks = {5, 7, 10}, .nlooks = 3, .max_gpu_hours = INFINITY, .rule = DECISION_RULE_INIT, \
     .quality = true, .short_s = 120}

struct design_run {
    int gpus;
    long seed;
    bool limited;     /* short: it ends at limit.steps or limit.minutes */
    double gpu_hours; /* expected */
};

struct design_round {
    struct design_run runs[DESIGN_RUNS];
    size_t nruns;
    /* The count whose quality these whole runs test; 0: they are short runs for speed. */
    int tested;
    bool repeats; /* short runs that repeat outliers */
    /* The number of this look at it, from 1; 0 for one pair that may show equal losses
     * (design.shared). Once the runs have ended, pairs of seeds are known. */
    size_t look, pairs;
    size_t family;     /* the most counts that are tested, fixed in the first round of quality */
    double gpu_hours;  /* expected, of all runs */
    char reason[240];  /* a sentence without its full stop */
    char time[32];     /* when it was chosen, ISO 8601, for rounds.json */
};

enum design_state {
    DESIGN_CONTINUE,    /* there is a next round */
    DESIGN_DECIDED,     /* gpus is what the rule advises */
    DESIGN_UNDECIDED,   /* looks and repeats are used up; gpus is the best that is shown */
    DESIGN_BUDGET,      /* the next round would exceed max_gpu_hours */
    DESIGN_UNREACHABLE, /* no larger count reaches the efficiency; gpus is the base case */
    DESIGN_FAILED       /* the base case or all larger counts have no result */
};

/* What an outcome on quality is based on. */
enum design_how {
    DESIGN_NOT_TESTED,
    DESIGN_HOLDS,           /* tested */
    DESIGN_FALLS,           /* or collapses */
    DESIGN_FUTILE,          /* a later look is unlikely to show that it holds */
    DESIGN_NOT_SHOWN,       /* neither, at the last look */
    DESIGN_LAPSED,          /* runs collapsed, but not so many that the count is shown to */
    DESIGN_BY_CONSTRUCTION, /* not tested: equal losses of equal seeds */
    DESIGN_SPEED_ALONE      /* no quality is asked of */
};

/* What became of the quality of a count. */
struct design_test {
    int gpus;
    enum design_how how;
    size_t look, pairs;
    double estimate;          /* of its change, median-unbiased; NaN: unknown */
    struct interval interval; /* of the change, repeated confidence interval; or none */
    double collapse_most;     /* 95 % limit of the share that collapses, which both leave out */
};

struct design_outcome {
    enum design_state state;
    int gpus;                /* the best that is shown: the fastest efficient one whose quality
                              * holds, or the base case */
    enum design_how how;     /* of the quality of gpus, or if that is the base case of the last
                              * count tested */
    struct design_test tests[DESIGN_TESTED]; /* in the order in which they began */
    size_t ntests;
    double gpu_hours;        /* of all rounds: measured, or else expected */
    char why[440];           /* a sentence without its full stop */
};

extern const char *const design_state_names[];

/* Computes the outcome from the sorted table and the rounds made, whose runs have all ended, and
 * with DESIGN_CONTINUE the next round. Runs without a result count as failed and are not repeated.
 * Equal arguments give equal answers. Returns 0, or -1 if memory ran out. */
int design_next(const struct design *d, const struct results *table,
                const struct design_round *rounds, size_t nrounds, struct design_round *next,
                struct design_outcome *outcome, struct err *e);

/* Adds how the study was made and what its intervals are, in whole sentences for a report. */
void design_describe(const struct design *d, const struct design_round *rounds, size_t nrounds,
                     const struct design_outcome *outcome, struct buf *b);

/* Simulations of designs on assumed times, noise and scatter: what they cost, and,
 * where the truth is known, how often they are right. */

struct design_truth {
    double (*time)(const void *arg, int gpus); /* seconds of a steady epoch */
    const void *arg;                           /* of both functions */
    long epochs;    /* of a whole run */
    double noise;   /* relative standard deviation of a run's times */
    double scatter; /* standard deviation of a run's quality, in margins */
    /* Changes a run as drawn, of this round (from 0) and with the number of its study; NULL: none
     * is. */
    void (*edit)(const void *arg, size_t round, uint64_t study, struct result *r);
};

/* Adds a run to table, with a quality about 1, where a margin counts as DESIGN_EXPECT_MARGIN. */
#define DESIGN_EXPECT_MARGIN 0.01
int design_expect_run(const struct design_truth *t, const struct design *d,
                      const struct design_run *run, size_t round, uint64_t study,
                      struct results *table, struct err *e);

/* Makes a whole study. Its outcome has the GPU-hours. Returns the number of rounds, or -1 if memory
 * ran out. */
int design_expect_study(const struct design_truth *t, const struct design *d, uint64_t study,
                        struct design_outcome *outcome, struct err *e);

struct design_cost {
    double median, most; /* GPU-hours, without the limit; 90 % of studies take at most the second */
    double decided;      /* share of the studies that decide within max_gpu_hours */
    double rounds;       /* median */
};

/* Simulates studies with d->whole_s or, if that is 0, a whole run of 1 s (so hours are multiples of
 * its own): serial parts of 0 to 5 % of the time, noise DECISION_TIME_SCATTER, and unchanged
 * quality, whose pairs of seeds scatter by a margin. Returns 0, or -1 if memory ran out. */
#define DESIGN_EXPECT_STUDIES 60
int design_expect(const struct design *d, struct design_cost *dst, struct err *e);

/* Sets dst to the looks of the rounds, for decision_rule.looks: an analysis with them has repeated
 * confidence intervals. Returns 0, or -1 if memory ran out. */
int design_view_looks(const struct design *d, const struct results *table,
                      const struct design_round *rounds, size_t nrounds, struct quality_looks *dst,
                      struct err *e);
