/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict as data: how many GPUs to use, on what grounds, and what weakens it.
 *
 * best: the largest measured count, up to the knee, whose steady efficiency is at least
 * DECISION_EFFICIENCY and whose IoU holds (or is not known at all). IoU does not hold when its
 * median is below the base case's by more than the margin, unless there are repeats enough to say
 * that such a fall is chance.
 *
 * beyond: the knee. From it to any larger measured count, GPU-hours rise by a larger share than
 * time falls: N T(N)^2 grows, S(N) E(N) falls. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_DECISION_H
#define UNETCTL_LAUNCHER_ANALYSIS_DECISION_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/advice.h"
#include "launcher/analysis/compare.h"
#include "launcher/analysis/series.h"

#define DECISION_EFFICIENCY 0.8
#define DECISION_IOU_MARGIN 0.01

enum decision_iou {
    DECISION_IOU_UNKNOWN,   /* no IoU */
    DECISION_IOU_HOLDS,     /* within the margin, or a larger fall that is not significant in enough
                             * repeats, whose interval holds 0 */
    DECISION_IOU_UNCERTAIN, /* a fall of more than the margin, and repeats do not tell */
    DECISION_IOU_FALLS      /* significantly, by more than the margin */
};

/* Heaviest first. */
enum caveat_kind {
    CAVEAT_FAKE_GPUS,      /* GPUs are CPU cores of one machine */
    CAVEAT_FEW_CORES,      /* workers outnumber cores */
    CAVEAT_NOT_LEARNT,     /* no network segments */
    CAVEAT_UNEQUAL_IMAGES, /* IoU of different counts rests on different images */
    CAVEAT_MIXED_MODES,    /* strong and weak scaling in one study */
    CAVEAT_ONE_RUN,        /* one run per count */
    CAVEAT_FEW_RUNS,       /* not enough repeats to say */
    CAVEAT_MISSING_COUNTS, /* runs of some counts have no result */
    CAVEAT_BASE,           /* the base case is not 1 GPU */
    CAVEAT_NO_IMAGES,      /* images really processed are not known */
    CAVEAT_UNEQUAL_EPOCHS,
    CAVEAT_TOO_GOOD,       /* an efficiency above 1.1 */
    CAVEAT_OUTLIERS,
    CAVEAT_NKINDS
};

struct caveat {
    enum caveat_kind kind;
    char text[400]; /* one or two sentences */
};

struct decision {
    const struct series_point *base, *best; /* best is base when no larger count passes */
    struct ratio speedup, efficiency;       /* of best, steady, by images where they are known */
    enum decision_iou *iou;       /* per point of the series */
    struct comparison *iou_change; /* per point, against the base; [0] is empty */
    int beyond;         /* extra GPUs past this count cost more than they save; 0: not seen */
    double beyond_model; /* where nothing was seen: the model's knee; NaN: none within 2x */
    const struct series_point *limit; /* the next count after best; NULL: best is the largest */
    char limit_why[240];              /* why limit does not pass */
    struct caveat caveats[CAVEAT_NKINDS];
    size_t ncaveats;
};

/* What the verdict says of iou. */
const char *decision_iou_name(enum decision_iou iou);

/* s, advice: computed, and must live as long as the decision. table: all rows, for what is
 * missing. */
int decision_compute(struct decision *d, const struct series *s, const struct advice *advice,
                     const struct results *table, struct err *e);
void decision_destroy(struct decision *d);

#endif
