/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement of predictions with the truth: pixel counts, which ranks can sum, and their metrics.
 *
 * A score is an array of int64_t: SCORE_PIXELS, SCORE_CORRECT, then struct score_counts by class.
 * One logit per pixel means one class, the foreground; else each logit is a class. */
#ifndef UNETCTL_TRAINER_METRIC_SCORE_H
#define UNETCTL_TRAINER_METRIC_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCORE_PIXELS, SCORE_CORRECT, SCORE_CLASSES };

/* Of one class. Three int64_t: a sum over ranks may treat it as an array. */
struct score_counts {
    int64_t intersection; /* pixels predicted and true */
    int64_t pred;         /* pixels predicted */
    int64_t truth;        /* pixels true */
};

int64_t score_union(const struct score_counts *counts); /* pred + truth - intersection */

/* (I + 1) / (U + 1), the reference's smoothed Jaccard index, which is 1 when the class neither
 * occurs nor is predicted; and (2 I + 1) / (P + T + 1). */
double score_iou(const struct score_counts *counts);
double score_dice(const struct score_counts *counts);

/* The number of int64_t for so many classes. */
size_t score_size(int classes);

/* Adds n pixels: logits[n][classes], targets as network_target has them. One class: predicted where
 * logit > 0 (probability above 1/2), true where target > 0.5. Several: the first of the largest
 * logits. Pixels with a target below 0 do not count; a NaN predicts nothing. */
void score_add(int64_t *score, int classes, const float *logits, const float *target, size_t n);

const struct score_counts *score_class(const int64_t *score, int i);

/* Does class i occur, or is it predicted? */
int score_has(const int64_t *score, int i);

/* precision = I / predicted, recall = I / true; 0 where nothing is predicted or true, 1 where
 * neither. With several classes all but accuracy are the mean over those that occur or are
 * predicted. */
struct score_summary {
    double iou, dice, precision, recall, accuracy;
};
struct score_summary score_summarize(const int64_t *score, int classes);

/* The same of one class; accuracy is that of the whole score. */
struct score_summary score_summarize_class(const int64_t *score, int i);

/* The best IoU, or accuracy, on the same truth of predicting one class everywhere. *class: that
 * class; with one class 1 is foreground, 0 background. A network within SCORE_MARGIN above it has
 * learnt nothing measurable. */
#define SCORE_MARGIN 0.005
double score_constant(const int64_t *score, int classes, bool by_accuracy, int *class);

/* Sum of the counts over the classes. */
struct score_counts score_total(const int64_t *score, int classes);

#endif
