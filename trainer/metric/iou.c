/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/metric/iou.h"

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
