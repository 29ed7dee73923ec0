/* SPDX-License-Identifier: BSD-3-Clause */
/* Judges a series: groups of runs are compared (struct comparison), the quality of each count is
 * judged against that of the base case (struct quality), disturbances of the times are looked for
 * (struct disturbance), and all of it decides which number of GPUs to use (struct decision). */
#pragma once

#include "src/base.h"

#include "launcher/analysis/model/model.h"
#include "launcher/analysis/series.h"
#include "launcher/analysis/statistics/interval.h"
#include "launcher/collect/results/results.h"

/* Compares two groups of runs, such as those of two counts (numbers of GPUs) or of two series. One
 * method gives the interval and the p-value, so that they never contradict each other. Groups of
 * two runs or more are paired if both have the same seeds and all values are known, and independent
 * otherwise. */

#define COMPARE_ALPHA 0.05
#define COMPARE_POWER 0.8
/* With this probability the scatter of future runs is below the limit that a number of runs is
 * computed from. */
#define COMPARE_SCATTER_LEVEL 0.8

enum compare_test {
    COMPARE_NONE,          /* no test is possible */
    COMPARE_PAIRED_T,      /* quality: Student's t over pairs of runs with the same seeds */
    COMPARE_WELCH,         /* quality: Welch's t over runs that are not paired */
    COMPARE_PAIRED_RATIO,  /* times: Student's t of the logarithms of the ratios of pairs */
    COMPARE_FIELLER        /* times: Fieller's interval of runs that are not paired */
};

struct comparison {
    enum compare_test test;
    size_t n;          /* number of pairs, or of runs on the smaller side */
    size_t nfamily;    /* interval and p hold simultaneously with those of so many comparisons */
    double a, b;       /* quality: means of both sides; times: medians */
    double difference; /* b - a */
    struct interval interval; /* of the difference; of times, of the ratio a / b */
    double resolution; /* the steps in which the values were recorded (distribution.h) */
    double df;         /* degrees of freedom of the interval; NaN without one */
    /* standard deviation of a pair's difference, or of a run; of times, relative; NaN: unknown */
    double sd;
    double p;          /* two-sided, corrected by Bonferroni's method; NaN without a test */
    bool significant;  /* the interval excludes that there is no difference */
    double margin;     /* the smallest difference that matters; of times, relative */
    /* there are enough runs to find a difference of margin with power COMPARE_POWER */
    bool enough;
    /* runs per count needed for that; 0: unknown, as no spread was observed, or more than
     * student_needed finds */
    size_t needed;
};

extern const char *const compare_test_names[];

/* The quality of each count of a series, judged against the base case. Lower, below and falls are
 * said of a quality of which more is better, and mean the opposite of one of which less is.
 *
 * A run has collapsed if its quality is worse than the median of the base case by more than
 * quality_far, or if it has none although the log names one: it diverged. A count collapses where
 * the lower limit of the share of its runs that do exceeds QUALITY_COLLAPSE_SHARE. Where some run
 * has collapsed, and that limit does not, quality is undecided, unless the upper limit lies below.
 * Otherwise the runs that have not collapsed are compared by the interval of the change of their
 * mean, simultaneous over all counts: quality holds if it lies above -margin, falls if it lies
 * below that, and is undecided otherwise, also where a side has one run. It does not hold if the
 * steps in which it was recorded or counted are coarser than a part of the margin. Quality that was
 * not recorded, or is not comparable, is unknown. */

#define QUALITY_COLLAPSE 5    /* margins */
#define QUALITY_COLLAPSE_SCATTER 4 /* standard deviations */
#define QUALITY_COLLAPSE_SHARE 0.1  /* the largest share of runs that may collapse */
#define QUALITY_COLLAPSE_RUNS 100 /* more runs are not asked for to decide on that */
#define QUALITY_COARSE 0.2     /* the largest step, as a part of the margin, that is compared */
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
    size_t look, pairs; /* look from 1; 0: there was none yet. No pairs: it is not judged */
    long last_seed;     /* later seeds belong to the next look */
    double alpha;       /* two-sided nominal level of this look */
    bool shared;        /* quality holds by construction if losses of equal seeds are equal */
};

/* The efficiency of a count in a sequential design, by its short runs within rounds. The interval
 * is that of its last look, simultaneous over all counts and looks. */
struct speed_look {
    int gpus;
    size_t look; /* from 1 */
    double efficiency;
    struct interval interval;
};

#define SPEED_LOOKS 64 /* the most counts of a sequential design */
struct quality_looks {
    struct quality_look items[QUALITY_LOOKS];
    size_t n, family; /* family: counts that might have been tested */
    struct speed_look speed[SPEED_LOOKS];
    size_t nspeed;
};

struct quality {
    enum quality_state state;
    const char *why;          /* "not recorded", "recorded too coarsely ..."; NULL */
    struct comparison change; /* from the base case; empty for the base case itself */
    size_t nruns;             /* distinct runs (compare_distinct) whose quality is known */
    size_t ncollapsed;        /* of them, those that have collapsed */
    /* 95 % limits of the share that collapses, each one-sided (interval.h) */
    double collapse_least, collapse_most;
    bool collapse_open;       /* undecided for that share: some run collapsed */
    size_t collapse_needed;   /* the runs that would decide, if the share stays; 0: too many */
    size_t nrepeats;          /* runs that repeat another seed's */
    /* The first losses of runs of equal seeds differ by at most QUALITY_EQUAL, and quality is not
     * tested. */
    bool by_construction;
};

/* Returns the least by which a collapsed run is worse: QUALITY_COLLAPSE margins, or where runs
 * scatter more QUALITY_COLLAPSE_SCATTER standard deviations within counts, by the median distance
 * of runs with neighbouring seeds, which runs that collapse hardly change. */
double quality_far(const struct series *s, double margin);

/* Returns the runs of which a share of k of n is shown to be above or below
 * QUALITY_COLLAPSE_SHARE, or 0 if that takes more than QUALITY_COLLAPSE_RUNS. */
size_t quality_collapse_needed(size_t k, size_t n);

/* Returns "holds", "undecided", ... or "holds by construction". s, if not NULL, is the series, whose
 * quality "collapses" if it is a share, and otherwise is "far worse". */
const char *quality_state_name(const struct quality *q, const struct series *s);

/* Returns "falls", or of a quality of which less is better "rises". */
const char *quality_fall_word(const struct series *s);

/* Whether the times of a series depend on when and where its runs were executed: a drift over the
 * study, and a node that is slower than the others.
 *
 * Both are tested on the residuals r of the steady epoch's logarithm from its mean over the runs of
 * the same count, so that no model of scaling is assumed. With x the covariate less its mean over
 * the runs of the same count, the estimate is exp(sum r x / sum x^2). p-values are those of a
 * permutation test within counts (Good, Permutation Tests, chapter 3), whose only assumption is
 * that the runs of a count are exchangeable if nothing disturbs them; over the nodes the largest
 * statistic is compared (Westfall and Young 1993), so that p holds for all nodes together. */

#define DISTURBANCE_ALPHA 0.01 /* a larger p is not reported */
#define DISTURBANCE_EFFECT 0.01 /* nor is a smaller relative change */

struct disturbance {
    /* T of the last start over T of the first; the covariate is the rank of the start, 0 to 1 */
    double drift, drift_p;
    /* T of runs on the node that slows down the most, over T of the others */
    double slow, slow_p;
    char node[128]; /* its name */
    size_t on_node; /* runs on it */
};

/* Returns whether the slow node is to be reported. */
bool disturbance_is_slow(const struct disturbance *d);

/* The verdict as data: how many GPUs to use, for what reasons, and what weakens it. All sentences
 * of a report about what to use, what limits scaling and what to measure next are made from it.
 *
 * The rule (decision_describe_rule): of the measured counts, use the fastest whose steady
 * efficiency is shown to be at least rule.efficiency, and whose quality is shown to hold, or else
 * the base case. Both are judged by intervals that hold simultaneously over all larger counts
 * (Bonferroni), because the verdict chooses among them; tables have those of each count alone.
 * Efficiency passes if its interval lies at or above the threshold, fails if it lies below, and is
 * undecided if it contains the threshold, or if there is none; the epochs of single runs decide
 * nothing. A count that only may meet the rule is undecided. */

/* The thresholds of the rule, which a study may set. */
struct decision_rule {
    double efficiency; /* the least */
    double margin;     /* the quality may be worse by less than this */
    bool is_share;     /* margin is a part of the base case's median */
    /* The study sets margin. Otherwise it is such a part of values beyond 1, such as percent, and
     * of those of which less is better, such as an error of 0.004. */
    bool chosen;
    /* of a sequential design (design.h), whose pairs decide quality; NULL: the sample is fixed */
    const struct quality_looks *looks;
};
#define DECISION_EFFICIENCY 0.8
#define DECISION_IOU_MARGIN 0.01
#define DECISION_RULE_INIT {DECISION_EFFICIENCY, DECISION_IOU_MARGIN, false, false, NULL}

/* A larger efficiency is suspect: caches may explain it, or other work that slowed the base case
 * down. */
#define DECISION_TOO_GOOD 1.1
#define DECISION_TIME_SCATTER 0.02 /* assumed relative standard deviation of times over runs */
#define DECISION_PILOT 3 /* runs that show the scatter where a count has one run */

/* How a count meets the rule, or its part on efficiency. */
enum decision_state {
    DECISION_PASSES,    /* efficient, and its quality holds; also the base case */
    DECISION_UNDECIDED, /* neither of the others */
    DECISION_FAILS      /* not efficient, or its quality falls or collapses */
};

/* The most severe first. */
enum caveat_kind {
    CAVEAT_FAKE_GPUS,      /* the "GPUs" of some run are CPU cores */
    CAVEAT_FEW_CORES,      /* more workers than cores */
    CAVEAT_KERNELS,        /* slower kernels were used, as others gave wrong results */
    CAVEAT_SEEN_GPUS,      /* a rank sees more GPUs than its run was given */
    CAVEAT_FLAT,           /* no speed-up: one rank, work that is not shared, or that of one GPU */
    CAVEAT_ALL_RANKS,      /* logs have a row for each rank */
    CAVEAT_LONG_LOGS,      /* logs add up to more than their jobs took */
    CAVEAT_SHORT_LOGS,     /* logs cover less than half of their jobs */
    CAVEAT_MEANS,          /* medians of epochs hide slow ones (series.means) */
    CAVEAT_GAP,            /* an interval of some run is as long as many others */
    CAVEAT_NOT_LEARNT,     /* no network has learnt its task, or some run is blind */
    CAVEAT_NO_QUALITY,     /* some whole run has no quality, and others have */
    CAVEAT_EQUAL_SEEDS,    /* runs of different seeds are the same run (compare_distinct) */
    CAVEAT_UNEQUAL_IMAGES, /* counts were, or may have been, scored on different images */
    CAVEAT_MIXED_MODES,    /* the study mixes strong and weak scaling, or batches */
    CAVEAT_DRIFT,          /* times depend on when a run started */
    CAVEAT_SLOW_NODE,      /* one node is slower than the others */
    CAVEAT_OUTLYING,       /* a run takes a multiple of the others' time */
    CAVEAT_ONE_RUN,        /* no count has more than one run */
    /* the judged interval of an efficiency contains the threshold, and the quality does not fall */
    CAVEAT_NEAR_THRESHOLD,
    CAVEAT_MISSING_COUNTS, /* some runs have no result */
    CAVEAT_BASE,           /* the base case is not 1 GPU */
    CAVEAT_CLOCK,          /* the steps of some log's clock are large, so that times are means */
    CAVEAT_NO_IMAGES,      /* the work that was done is unknown */
    CAVEAT_UNEQUAL_EPOCHS,
    CAVEAT_TOO_GOOD, /* an efficiency above DECISION_TOO_GOOD */
    CAVEAT_OUTLIERS,
    CAVEAT_NKINDS
};

struct caveat {
    enum caveat_kind kind;
    char text[560]; /* a few sentences */
};

/* The runs per count that would decide what is undecided of a count: its quality, or its
 * efficiency. */
struct decision_seeds {
    const struct series_point *point; /* the count; NULL: nothing is undecided */
    size_t n;       /* 0: nothing is undecided, or the number is not practicable */
    /* What n is computed for. Quality: its change, 0 or the observed one if that is close to the
     * margin. Efficiency: the observed one. */
    double change;
    /* the standard deviation that n is computed from: of a run, or of the difference of a pair; of
     * times, relative */
    double scatter;
    bool assumed;   /* scatter is taken as one margin, or DECISION_TIME_SCATTER, as none was seen */
    bool coarse;    /* runs do not scatter beyond the steps in which they are recorded */
    bool collapse;  /* n decides whether too many runs collapse */
};

/* Returns the runs per count to measure next: n, or DECISION_PILOT where none shows the scatter. */
size_t decision_next_runs(const struct decision_seeds *seeds);

struct decision {
    struct decision_rule rule; /* its margin is that of decision_margin */
    bool by_time; /* no run has a quality: the decision is by efficiency alone */
    const struct series_point *base;
    const struct series_point *use;   /* the fastest count that passes, or base if no other does */
    /* The fastest count that does not fail and whose measured efficiency reaches the threshold:
     * use, or a faster one that is undecided. */
    const struct series_point *reach;
    /* the count that a report presents: use, or reach if use is base */
    const struct series_point *best;
    bool decided; /* use is base only because all larger counts fail, or use is reach */
    /* of best, for the steady epoch, corrected for images if they are known */
    struct ratio speedup, efficiency;
    enum decision_state *state;       /* per point of the series */
    enum decision_state *time;        /* per point, by efficiency alone */
    struct ratio *judged;             /* per point: the efficiency by which that is */
    size_t nfamily;                   /* the counts over which these intervals hold together */
    struct quality *quality;          /* per point */
    bool unlearnt;                    /* quality was recorded, and no network learnt its task */
    struct decision_seeds seeds;      /* for the quality of reach */
    struct decision_seeds time_seeds; /* for the efficiency of reach or, if decided, of limit */
    const struct series_point
        *limit;          /* the next larger count after reach, or NULL if none was measured */
    char limit_why[400]; /* why limit is not used: "efficiency drops to ..." */
    /* If limit is NULL, the count, at most twice the largest measured one, up to which the whole
     * interval of the model lies at the rule's efficiency or above beyond reach, and the same of
     * what it expects; reach's own count if it predicts less for the next one; 0 if limit is not
     * NULL or the model cannot be used. */
    int model_reach, model_expected;
    int next;          /* the count to measure next, or 0 */
    /* or how many runs base and next_point should have each, or 0 */
    size_t next_seeds;
    const struct series_point *next_point;
    int next_whole[2]; /* or the counts, 0 or more, that need whole runs for the quality */
    char next_why[480];
    struct disturbance disturbance;
    struct caveat caveats[CAVEAT_NKINDS];
    size_t ncaveats;
};

/* Adds the rule in words, as it is applied to s. quality is a word for the quality of all series,
 * or NULL if none has any. */
void decision_describe_rule(struct buf *b, const struct decision_rule *rule,
                            const struct series *s, const char *quality);

/* Returns whether the efficiency of a count is known from single runs, which decide nothing. */
bool decision_is_single(const struct decision *d, const struct series_point *p);

/* Returns the decimals that distinguish an efficiency from the threshold: 2, or 3 close to it. */
int decision_efficiency_decimals(const struct decision *d, double efficiency);

/* Returns the count with the largest efficiency if that is suspect: above DECISION_TOO_GOOD, and
 * its interval, or without one the range of several runs, above 1. Otherwise NULL. */
const struct series_point *decision_find_too_good(const struct decision *d,
                                                  const struct series *s);

/* Lists the counts for which f holds, with three or more that are adjacent in the series as a
 * range: "2, 4..14". What does not fit into size is cut off. Returns the number of these counts. */
typedef bool decision_point_f(const struct decision *d, const struct series *s, size_t i);
size_t decision_list_counts(const struct decision *d, const struct series *s, decision_point_f *f,
                            char *dst, size_t size);

/* Returns by how much worse a change of the quality is: -change, or change if less is better. */
double quality_loss(const struct series *s, double change);
/* Returns what that makes of an interval of changes. */
struct interval quality_losses(const struct series *s, const struct interval *changes);

/* Computes the decision but for its caveats (caveats_compute). s and steady (the model of
 * the steady epoch) must live as long. Returns 0, or -1 if memory ran out. */
int decision_compute(struct decision *d, const struct series *s, const struct decision_rule *rule,
                     const struct model *steady, struct err *e);
void decision_destroy(struct decision *d);
