/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict as data: how many GPUs to use, for what reasons, and what weakens it. All sentences
 * of a report about what to use, what limits scaling and what to measure next are made from it. A
 * count is a number of GPUs that runs were measured on; the base case is the smallest count, and
 * steady means the epochs after the first.
 *
 * The rule (decision_rule): of the measured counts, use the fastest whose steady efficiency is at
 * least DECISION_EFFICIENCY and whose quality holds, or else the base case. Quality is judged by
 * the interval of its change from the base case, simultaneous over all counts. It holds if the
 * interval lies above -DECISION_IOU_MARGIN, and falls if the interval lies below that; otherwise it
 * is undecided, as it always is where the count or the base case has one run. Quality that was not
 * recorded, or is not comparable, is unknown, and then does not hold either. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_DECISION_H
#define UNETCTL_LAUNCHER_ANALYSIS_DECISION_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/compare.h"
#include "launcher/analysis/model.h"
#include "launcher/analysis/series.h"
#include "src/buf.h"

#define DECISION_EFFICIENCY 0.8
#define DECISION_IOU_MARGIN 0.01
/* A larger efficiency is suspect: caches may explain it, or other work that slowed the base case
 * down. */
#define DECISION_TOO_GOOD 1.1
#define DECISION_SCATTER 0.01 /* assumed standard deviation of the quality over seeds */
/* a smaller gain over predicting one class everywhere does not count */
#define DECISION_BLIND 0.005
#define DECISION_LEARNT 0.1 /* a network of lower quality has not learnt its task */

enum decision_iou {
    DECISION_IOU_UNKNOWN, /* not recorded, or not comparable; for reach, iou_unusable is why */
    DECISION_IOU_HOLDS,
    DECISION_IOU_UNDECIDED,
    DECISION_IOU_FALLS
};

/* How a count meets the rule. */
enum decision_state {
    DECISION_PASSES,    /* efficient, and its quality holds; also the base case */
    DECISION_UNDECIDED, /* efficient, but its quality is undecided or unknown */
    DECISION_FAILS      /* not efficient, or its quality falls */
};

/* The most severe first. */
enum caveat_kind {
    CAVEAT_FAKE_GPUS,      /* the "GPUs" of some run are CPU cores */
    CAVEAT_FEW_CORES,      /* more workers than cores */
    CAVEAT_KERNELS,        /* slower kernels were used, as others gave wrong results */
    CAVEAT_NOT_LEARNT,     /* no network has learnt its task, or some run is blind (see below) */
    CAVEAT_UNEQUAL_IMAGES, /* counts were, or may have been, scored on different images */
    CAVEAT_MIXED_MODES,    /* the study mixes strong and weak scaling, or batches */
    CAVEAT_ONE_RUN,        /* no count has more than one run */
    /* the interval of an efficiency contains DECISION_EFFICIENCY, and the quality does not fall */
    CAVEAT_NEAR_THRESHOLD,
    CAVEAT_MISSING_COUNTS, /* some runs have no result */
    CAVEAT_BASE,           /* the base case is not 1 GPU */
    CAVEAT_NO_IMAGES,      /* the number of images that were processed is unknown */
    CAVEAT_UNEQUAL_EPOCHS,
    CAVEAT_TOO_GOOD, /* an efficiency above DECISION_TOO_GOOD */
    CAVEAT_OUTLIERS,
    CAVEAT_NKINDS
};

struct caveat {
    enum caveat_kind kind;
    char text[400]; /* one or two sentences */
};

/* The runs per count that would decide an undecided quality. */
struct decision_seeds {
    size_t n;      /* 0: the quality is not undecided, or the number is not practicable */
    /* The change of quality that n is computed for: 0, or the observed change if it is close to
     * the margin. */
    double change;
    /* the standard deviation that n is computed from: of a run, or of the difference of a pair */
    double scatter;
    bool assumed;   /* DECISION_SCATTER was assumed, because no count has two runs */
};

struct decision {
    const struct series_point *base;
    const struct series_point *use;   /* the fastest count that passes, or base if no other does */
    /* The fastest count that does not fail: use, or a faster one that is undecided. */
    const struct series_point *reach;
    /* the count that a report presents: use, or reach if use is base */
    const struct series_point *best;
    /* of best, for the steady epoch, corrected for images if they are known */
    struct ratio speedup, efficiency;
    enum decision_state *state;       /* per point of the series */
    enum decision_iou *iou;           /* per point */
    bool learnt;                      /* the quality of some count reaches DECISION_LEARNT */
    const char *iou_unusable;         /* why the quality of reach is unknown; NULL if it is known */
    struct comparison *iou_change;    /* per point, compared with the base; [0] is empty */
    struct decision_seeds seeds;      /* for reach */
    const struct series_point
        *limit;          /* the next larger count after reach, or NULL if none was measured */
    char limit_why[240]; /* why limit is not used: "efficiency drops to ..." */
    /* If limit is NULL, the count, at most twice the largest measured one, up to which the whole
     * interval of the model lies at DECISION_EFFICIENCY or above beyond reach, and the same of what
     * it expects; reach's own count if it predicts less for the next one; 0 if limit is not NULL or
     * the model cannot be used. */
    int model_reach, model_expected;
    int next;          /* the count to measure next, or 0 */
    size_t next_seeds; /* or how many runs base and reach should have each, or 0 */
    char next_why[240];
    struct caveat caveats[CAVEAT_NKINDS];
    size_t ncaveats;
};

/* Adds the rule in words. quality is "IoU" or "accuracy". */
void decision_rule(struct buf *b, const char *quality);

/* "holds", "undecided", ... */
const char *decision_iou_name(enum decision_iou iou);

/* Is r no better than predicting one class everywhere, which is called blind? False if that is
 * unknown. */
bool decision_is_blind(const struct result *r);

/* Does the efficiency of p, as printed with three decimals, reach DECISION_EFFICIENCY? */
bool decision_is_efficient(const struct series *s, const struct series_point *p);

/* Returns the decimals that distinguish an efficiency from DECISION_EFFICIENCY: 2, or 3 close to
 * it. */
int decision_efficiency_decimals(double efficiency);

/* Lists the counts for which f holds, with three or more that are adjacent in the series as a
 * range: "2, 4..14". What does not fit into size is cut off. Returns the number of these counts. */
typedef bool decision_point_f(const struct decision *d, const struct series *s, size_t i);
size_t decision_list_counts(const struct decision *d, const struct series *s, decision_point_f *f,
                            char *dst, size_t size);

/* Computes the decision. s and steady (the model of the steady epoch) must live
 * as long. table has all rows, and so shows which runs are missing. Returns 0, or -1 if memory
 * ran out. */
int decision_compute(struct decision *d, const struct series *s, const struct model *steady,
                     const struct results *table, struct err *e);
void decision_destroy(struct decision *d);

#endif
