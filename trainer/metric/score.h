/* SPDX-License-Identifier: BSD-3-Clause */
/* How well predictions agree with the truth: pixel counts that ranks can add up, and what is made
 * of them.
 *
 * A score is a row of int64_t: SCORE_PIXELS, SCORE_CORRECT, then struct iou_counts by class. With
 * one logit per pixel there is one class, the foreground; else the classes are the logits'. */
#ifndef UNETCTL_TRAINER_METRIC_SCORE_H
#define UNETCTL_TRAINER_METRIC_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/metric/iou.h"

enum { SCORE_PIXELS, SCORE_CORRECT, SCORE_CLASSES };

/* int64_t in a row for so many classes. */
size_t score_size(int classes);

/* Adds n pixels: logits[n][classes], targets as network_target has them. One class: predicted where
 * logit > 0 (probability above 1/2), true where target > 0.5. Several: the first of the largest
 * logits. Pixels with a target below 0 do not count; a NaN predicts nothing. */
void score_add(int64_t *score, int classes, const float *logits, const float *target, size_t n);

const struct iou_counts *score_class(const int64_t *score, int i);

/* Is class i there or predicted? */
int score_has(const int64_t *score, int i);

/* What a table shows. precision = I / predicted, recall = I / true, 0 where nothing was predicted
 * or is true, 1 where neither. All but accuracy, of several classes: the mean over those that are
 * there or predicted. */
struct score_summary {
    double iou, dice, precision, recall, accuracy;
};
struct score_summary score_summarize(const int64_t *score, int classes);

/* The same of one class; accuracy is that of the whole score. */
struct score_summary score_summarize_class(const int64_t *score, int i);

/* The best score on the same truth of a prediction that is one class everywhere: IoU, or accuracy.
 * *class: that class; of one class 1 is foreground, 0 background. A network that scores no more
 * than SCORE_MARGIN above it has learnt nothing that shows. */
#define SCORE_MARGIN 0.005
double score_constant(const int64_t *score, int classes, bool by_accuracy, int *class);

/* Sum of the counts over the classes. */
struct iou_counts score_total(const int64_t *score, int classes);

#endif
