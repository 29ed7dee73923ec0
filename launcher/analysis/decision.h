/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict as data: how many GPUs to use, for what reasons, and what weakens it. All sentences
 * of a report about what to use, what limits scaling and what to measure next are made from it. A
 * count is a number of GPUs that runs were measured on; the base case is the smallest count, and
 * steady means the epochs after warming up.
 *
 * The rule (decision_describe_rule): of the measured counts, use the fastest whose steady
 * efficiency is shown to be at least rule.efficiency, and whose quality is shown to hold
 * (quality.h), or else the base case. Both are judged by intervals: efficiency passes if its
 * interval lies at or above the threshold, fails if it lies below, and is undecided if it contains
 * the threshold, or if there is no interval. A count that only may meet the rule is undecided. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_DECISION_H
#define UNETCTL_LAUNCHER_ANALYSIS_DECISION_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/compare.h"
#include "launcher/analysis/disturbance.h"
#include "launcher/analysis/model/model.h"
#include "launcher/analysis/quality.h"
#include "launcher/analysis/series.h"
#include "src/buf.h"

/* The thresholds of the rule, which a study may set. */
struct decision_rule {
    double efficiency; /* the least */
    double margin;     /* the quality may be worse by less than this */
    bool is_share;     /* margin is a part of the base case's median */
    /* of a sequential design (design.h), whose pairs decide quality; NULL: the sample is fixed */
    const struct quality_looks *looks;
};
#define DECISION_EFFICIENCY 0.8
#define DECISION_IOU_MARGIN 0.01
#define DECISION_RULE_INIT {DECISION_EFFICIENCY, DECISION_IOU_MARGIN, false, NULL}

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
    CAVEAT_FLAT,           /* no speed-up, perhaps as the logs count one GPU's work */
    CAVEAT_NOT_LEARNT,     /* no network has learnt its task, or some run is blind (quality.h) */
    CAVEAT_NO_QUALITY,     /* some whole run has no quality, and others have */
    CAVEAT_EQUAL_SEEDS,    /* runs of different seeds are the same run (compare_distinct) */
    CAVEAT_UNEQUAL_IMAGES, /* counts were, or may have been, scored on different images */
    CAVEAT_MIXED_MODES,    /* the study mixes strong and weak scaling, or batches */
    CAVEAT_DRIFT,          /* times depend on when a run started */
    CAVEAT_SLOW_NODE,      /* one node is slower than the others */
    CAVEAT_ONE_RUN,        /* no count has more than one run */
    /* the interval of an efficiency contains DECISION_EFFICIENCY, and the quality does not fall */
    CAVEAT_NEAR_THRESHOLD,
    CAVEAT_MISSING_COUNTS, /* some runs have no result */
    CAVEAT_BASE,           /* the base case is not 1 GPU */
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
    bool assumed;   /* scatter was assumed, because no count has two runs */
    bool coarse;    /* runs do not scatter beyond the steps in which they are recorded */
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

/* Returns the margin for the quality of a series. */
double decision_margin(const struct decision_rule *rule, const struct series *s);

/* Adds the rule in words, as it is applied to s. quality is a word for the quality of all series,
 * or NULL if none has any. */
void decision_describe_rule(struct buf *b, const struct decision_rule *rule,
                            const struct series *s, const char *quality);

/* Returns the decimals that distinguish an efficiency from the threshold: 2, or 3 close to it. */
int decision_efficiency_decimals(const struct decision *d, double efficiency);

/* Returns the count with the largest efficiency if that is suspect: above DECISION_TOO_GOOD, and
 * its interval, where it is known, above 1. Otherwise NULL. */
const struct series_point *decision_find_too_good(const struct decision *d,
                                                  const struct series *s);

/* Lists the counts for which f holds, with three or more that are adjacent in the series as a
 * range: "2, 4..14". What does not fit into size is cut off. Returns the number of these counts. */
typedef bool decision_point_f(const struct decision *d, const struct series *s, size_t i);
size_t decision_list_counts(const struct decision *d, const struct series *s, decision_point_f *f,
                            char *dst, size_t size);

/* Computes the decision but for its caveats (caveats.h). s and steady (the model of the steady
 * epoch) must live as long. Returns 0, or -1 if memory ran out. */
int decision_compute(struct decision *d, const struct series *s, const struct decision_rule *rule,
                     const struct model *steady, struct err *e);
void decision_destroy(struct decision *d);

#endif
