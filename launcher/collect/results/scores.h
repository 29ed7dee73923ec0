/* SPDX-License-Identifier: BSD-3-Clause */
/* images.csv: the IoU, or accuracy, of each validation image after the last epoch, and the pixels
 * of each class (logs/SCHEMA.md). With these scores, two single runs are compared on the same
 * images. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_SCORES_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

struct score {
    uint64_t image; /* hash of the image's name */
    double iou;     /* or its accuracy */
};

/* The pixels of a class in all images. */
struct score_class {
    char name[64];
    double intersection, either; /* of prediction and truth: in both, and in one or both */
};

struct scores {
    struct score *rows; /* ascending by the hash */
    size_t count;
    struct score_class *classes; /* of several, in their order; the first is the background */
    size_t nclasses;
};

/* Returns (I + 1) / (U + 1) over the pixels of all images. */
double scores_class_iou(const struct score_class *c);

/* Reads the column "iou" or "accuracy" of the rows of class "all", and the counts of the others.
 * Returns NULL if the file cannot
 * be read, or with ERR_DATA "FILE:LINE: REASON", some without LINE: a column is missing, a row has
 * another number of cells, a value is outside 0..1, an image appears twice, there is no image, or
 * the last newline is missing. */
struct scores *scores_read(const char *path, const char *column, struct err *e);
void scores_destroy(struct scores *s);

/* Finds the images that a and b share: iou_a[i] and iou_b[i] become the scores of the same image.
 * Both need room for the smaller count. Returns the number of common images. */
size_t scores_match(const struct scores *a, const struct scores *b, double *iou_a, double *iou_b);

#endif
