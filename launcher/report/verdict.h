/* SPDX-License-Identifier: BSD-3-Clause */
/* How many GPUs are worth it, in plain words.
 *
 * The rule: the largest count whose steady efficiency is at least VERDICT_EFFICIENCY and whose
 * median IoU is not below the base's by more than VERDICT_IOU_DROP, or by more than the range of the
 * base's seeds where that is larger. */
#ifndef UNETCTL_LAUNCHER_REPORT_VERDICT_H
#define UNETCTL_LAUNCHER_REPORT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/scaling.h"
#include "src/buf.h"

#define VERDICT_EFFICIENCY 0.8
#define VERDICT_IOU_DROP 0.01
#define VERDICT_REPEATS 3 /* runs per count, below which a difference of IoU may be chance */
#define VERDICT_RULE                                                                        \
    "the largest number of GPUs whose steady epochs have an efficiency of at least 0.80 and " \
    "whose IoU is not below the base case's by more than 0.01, or by more than the range of " \
    "the base case's seeds where that is larger"

struct verdict {
    int worth;         /* GPUs */
    int beyond;        /* the next larger count that was measured; 0: none was */
    double iou_margin; /* how much IoU may fall */
    bool enough_repeats;
    bool oversubscribed; /* at some count workers shared cores */
};

/* s has at least one point. */
struct verdict verdict_compute(const struct scaling *s);

/* Does count i (an index into points) pass the rule? */
bool verdict_passes(const struct scaling *s, size_t i, double iou_margin);

/* The verdict as sentences, one per line, the most important first. */
void verdict_explain(const struct verdict *v, const struct scaling *s, struct buf *b);

#endif
