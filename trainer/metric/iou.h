/* SPDX-License-Identifier: BSD-3-Clause */
/* Intersection over union and Dice of one class, from pixel counts. */
#ifndef UNETCTL_TRAINER_METRIC_IOU_H
#define UNETCTL_TRAINER_METRIC_IOU_H

#include <stdint.h>

/* Three int64_t in a row: an all-reduce may add them as an array. */
struct iou_counts {
    int64_t intersection; /* pixels predicted and true */
    int64_t pred;         /* pixels predicted */
    int64_t truth;        /* pixels true */
};

/* pred + truth - intersection */
int64_t iou_union(const struct iou_counts *counts);

/* (I + 1) / (U + 1): the reference's smoothed Jaccard index; 1 when the class is neither there nor
 * predicted. */
double iou_value(const struct iou_counts *counts);

/* (2 I + 1) / (P + T + 1) */
double iou_dice(const struct iou_counts *counts);

#endif
