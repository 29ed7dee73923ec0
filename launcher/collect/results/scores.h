/* SPDX-License-Identifier: BSD-3-Clause */
/* images.csv: the IoU, or accuracy, of each validation image after the last epoch (logs/SCHEMA.md).
 * With it runs are compared on the same images. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_SCORES_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

struct score {
    uint64_t image; /* hash of its name */
    double iou;
};

struct scores {
    struct score *rows; /* ascending by image */
    size_t count;
};

/* The rows of class "all", and of these the column "iou" or "accuracy". NULL with ERR_DATA
 * "FILE:LINE: REASON": no columns image, class and that, a row with another number of cells, a
 * value outside 0..1, an image that stands there twice,
 * no image, no newline at the end. */
struct scores *scores_read(const char *path, const char *column, struct err *e);
void scores_destroy(struct scores *s);

/* IoU of a's and b's common images, pairwise: iou_a[i] and iou_b[i] are of the same image. Room
 * for the smaller count. Returns their number. */
size_t scores_match(const struct scores *a, const struct scores *b, double *iou_a, double *iou_b);

#endif
