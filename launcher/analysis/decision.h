/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict as data: how many GPUs to use, on what grounds, and what weakens it. All sentences of
 * a report about what to use, what limits and what to measure next are made of this.
 *
 * The rule (decision_rule): of the counts measured, use the fastest whose steady efficiency is at
 * least DECISION_EFFICIENCY and whose quality holds. Quality holds where the interval of its change
 * against the base case, simultaneous over all counts, lies above -DECISION_IOU_MARGIN; it falls
 * where that interval lies below; otherwise it is undecided, as it always is with one run per
 * count. */
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
#define DECISION_TOO_GOOD 1.1 /* an efficiency that shows a base case which was slowed down */
#define DECISION_SCATTER 0.01 /* assumed standard deviation of the quality over seeds */
#define DECISION_BLIND 0.005  /* a smaller gain over one class everywhere does not count */
#define DECISION_LEARNT 0.1 /* a network of less quality has not learnt its task */

enum decision_iou {
    DECISION_IOU_UNKNOWN, /* not recorded, or not comparable: iou_unusable has the reason */
    DECISION_IOU_HOLDS,
    DECISION_IOU_UNDECIDED,
    DECISION_IOU_FALLS
};

/* How a count meets the rule. */
enum decision_state {
    DECISION_PASSES,
    DECISION_UNDECIDED, /* by time it passes, its quality is undecided or unknown */
    DECISION_FAILS
};

/* Heaviest first. */
enum caveat_kind {
    CAVEAT_FAKE_GPUS,      /* GPUs are CPU cores of one machine */
    CAVEAT_FEW_CORES,      /* workers outnumber cores */
    CAVEAT_NOT_LEARNT,     /* no network segments */
    CAVEAT_UNEQUAL_IMAGES, /* IoU of different counts rests on different images */
    CAVEAT_MIXED_MODES,    /* strong and weak scaling in one study */
    CAVEAT_ONE_RUN,        /* one run per count */
    CAVEAT_NEAR_THRESHOLD, /* the interval of an efficiency holds DECISION_EFFICIENCY */
    CAVEAT_MISSING_COUNTS, /* runs of some counts have no result */
    CAVEAT_BASE,           /* the base case is not 1 GPU */
    CAVEAT_NO_IMAGES,      /* images really processed are not known */
    CAVEAT_UNEQUAL_EPOCHS,
    CAVEAT_TOO_GOOD, /* an efficiency above 1.1 */
    CAVEAT_OUTLIERS,
    CAVEAT_NKINDS
};

struct caveat {
    enum caveat_kind kind;
    char text[400]; /* one or two sentences */
};

/* Runs per count that would decide an undecided quality. */
struct decision_seeds {
    size_t n;      /* 0: no quality is undecided, or more than are practicable */
    double change; /* of the quality, by which n decides: 0, or what was seen where that is close to
                    * the margin */
    double scatter; /* standard deviation that n rests on: of a run, or of a difference of pairs */
    bool assumed;   /* DECISION_SCATTER, because no count has two runs */
};

struct decision {
    const struct series_point *base;
    const struct series_point *use;   /* the fastest count that passes; base: no other does */
    const struct series_point *reach; /* the fastest count that does not fail: use, or a faster one
                                       * that is undecided */
    const struct series_point *best;  /* what a report speaks of: use, or reach where use is base */
    struct ratio speedup, efficiency; /* of best, steady, by images where they are known */
    enum decision_state *state;       /* per point of the series */
    enum decision_iou *iou;           /* per point */
    bool learnt;                      /* some count reaches DECISION_LEARNT */
    const char *iou_unusable;         /* why the quality of reach is unknown; NULL: it is not */
    struct comparison *iou_change;    /* per point, against the base; [0] is empty */
    struct decision_seeds seeds;      /* for reach */
    const struct series_point
        *limit;          /* the next larger count than reach; NULL: none was measured */
    char limit_why[240]; /* why it is not used: "efficiency drops to ..." */
    int model_reach;   /* where limit is NULL: up to this count the model predicts an efficiency of
                        * DECISION_EFFICIENCY; 0: the model does not apply */
    int next;          /* count worth measuring next; 0: none */
    size_t next_seeds; /* or runs per count, of base and reach; 0: none */
    char next_why[240];
    struct caveat caveats[CAVEAT_NKINDS];
    size_t ncaveats;
};

/* The rule in words; quality: "IoU" or "accuracy". */
void decision_rule(struct buf *b, const char *quality);

/* "holds", "undecided", ... */
const char *decision_iou_name(enum decision_iou iou);

/* r scores no better than a prediction of one class everywhere; false where that is not known. */
bool decision_is_blind(const struct result *r);

/* As it is printed, to three decimals, p reaches DECISION_EFFICIENCY. */
bool decision_is_efficient(const struct series *s, const struct series_point *p);

/* Decimals that distinguish an efficiency from DECISION_EFFICIENCY: 2, or 3 close to it. */
int decision_efficiency_decimals(double efficiency);

/* The counts for which f holds, neighbours as one: "2, 4..14"; how many they are. */
typedef bool decision_point_f(const struct decision *d, const struct series *s, size_t i);
size_t decision_list_counts(const struct decision *d, const struct series *s, decision_point_f *f,
                            char *dst, size_t size);

/* s and steady (the chosen model of the steady epoch, or NULL) must live as long as the decision.
 * table: all rows, for what is missing. */
int decision_compute(struct decision *d, const struct series *s, const struct model *steady,
                     const struct results *table, struct err *e);
void decision_destroy(struct decision *d);

#endif
