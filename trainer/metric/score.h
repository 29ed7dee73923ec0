/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement of predictions with the truth: counts of pixels, and metrics computed from them.
 *
 * A score is an array of int64_t, which ranks sum: [SCORE_PIXELS], [SCORE_CORRECT], and from
 * [SCORE_CLASSES] a struct score_counts for each class. With one logit per pixel the only class is
 * the foreground. */
#ifndef UNETCTL_TRAINER_METRIC_SCORE_H
#define UNETCTL_TRAINER_METRIC_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCORE_PIXELS, SCORE_CORRECT, SCORE_CLASSES };

/* Pixels of one class; part of a score, so only int64_t. */
struct score_counts {
    int64_t intersection; /* predicted as the class, and of the class */
    int64_t pred;         /* predicted as the class */
    int64_t truth;        /* of the class */
};

/* Returns pred + truth - intersection. */
int64_t score_union(const struct score_counts *counts);

/* With I the intersection, U the union, P = pred, T = truth: score_iou returns (I + 1) / (U + 1),
 * the smoothed Jaccard index, score_dice (2 I + 1) / (P + T + 1). Both are 1 if the class neither
 * occurs nor is predicted. */
double score_iou(const struct score_counts *counts);
double score_dice(const struct score_counts *counts);

/* Returns the number of int64_t in a score of so many classes. */
size_t score_size(int classes);

/* Adds n pixels: logits[n][classes], targets as in network_target. With one class the foreground is
 * predicted where the logit is positive (probability above 1/2), and true where the target exceeds
 * 0.5. With several, the class of the first largest logit is predicted; NaNs are ignored, and if
 * all are NaN no class is predicted. Pixels with a target below 0 are not counted. */
void score_add(int64_t *score, int classes, const float *logits, const float *target, size_t n);

const struct score_counts *score_class(const int64_t *score, int i);

/* Returns whether class i occurs or is predicted. */
int score_has(const int64_t *score, int i);

/* precision = I / P and recall = I / T: 0 if the divisor is 0, but 1 if both P and T are. With
 * several classes all but the accuracy are means over the classes that occur or are predicted.
 * Without pixels all are 1. */
struct score_summary {
    double iou, dice, precision, recall, accuracy;
};
struct score_summary score_summarize(const int64_t *score, int classes);

/* As score_summarize, without the first of several classes, the background. */
struct score_summary score_summarize_foreground(const int64_t *score, int classes);

/* The summary of one class; accuracy is that of the whole score. */
struct score_summary score_summarize_class(const int64_t *score, int i);

/* Returns the best IoU, or accuracy, of a prediction that is the same class everywhere, on the
 * truth of this score, and sets *class to that class (one class: 1 foreground, 0 background). A
 * network that is not better than this by SCORE_MARGIN has learnt nothing measurable. */
#define SCORE_MARGIN 0.005
double score_constant(const int64_t *score, int classes, bool by_accuracy, int *class);

/* Returns the sum of the counts over the classes. */
struct score_counts score_total(const int64_t *score, int classes);

#endif
