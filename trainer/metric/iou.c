/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/metric/iou.h"

void iou_add(struct iou_counts *counts, const float *logits, const float *target, size_t n)
{
    int64_t intersection = 0, pred = 0, truth = 0;

    for (size_t i = 0; i < n; i++) {
        int p = logits[i] > 0, t = target[i] > 0.5f;
        intersection += p & t;
        pred += p;
        truth += t;
    }
    counts->intersection += intersection;
    counts->pred += pred;
    counts->truth += truth;
}

int64_t iou_union(const struct iou_counts *counts)
{
    return counts->pred + counts->truth - counts->intersection;
}

double iou_value(const struct iou_counts *counts)
{
    return (double)(counts->intersection + 1) / (double)(iou_union(counts) + 1);
}

double iou_dice(const struct iou_counts *counts)
{
    return (double)(2 * counts->intersection + 1) / (double)(counts->pred + counts->truth + 1);
}
