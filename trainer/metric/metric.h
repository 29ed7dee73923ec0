/* SPDX-License-Identifier: BSD-3-Clause */
/* How good predictions are: metrics from counts of pixels, and the loss of validation images.
 *
 * evaluate/ adds images to both, run/ and step/ sum them over ranks and report them. Both are plain
 * arrays of numbers whose sums over images or ranks mean the same as all images together, so that
 * IoU does not depend on the number of ranks. Nothing here fails or allocates. */
#pragma once

#include "src/base.h"

#include "trainer/ops/ops.h"

/* Agreement of predictions with the truth: counts of pixels, and metrics computed from them.
 *
 * A score is an array of int64_t, which ranks sum: [SCORE_PIXELS], [SCORE_CORRECT], and from
 * [SCORE_CLASSES] a struct score_counts for each class. With one logit per pixel the only class is
 * the foreground. */

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

/* The class that score_add counts: of a target, or -1 if it is ignored; of logits, or -1 if all are
 * NaN. With one logit 0 is the background and 1 the foreground. */
int score_true_class(float target, int classes);
int score_predicted_class(const float *logits, int classes);

/* Adds n pixels to pairs[true class][predicted class], of as many classes as confusion_side
 * returns: with one logit the background is one, too. */
int confusion_side(int classes);
void confusion_add(int64_t *pairs, int classes, const float *logits, const float *target, size_t n);

const struct score_counts *score_class(const int64_t *score, int i);

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
double score_constant(const int64_t *score, int classes, bool by_accuracy, int *class);

struct score_counts score_total(const int64_t *score, int classes);

/* The training loss of validation images, by the formulas of backends/ref/loss.c
 * without gradients. */

/* Sums over images. The ranks sum them as an array of doubles. */
struct image_loss {
    double ce, weight; /* weighted cross entropies of the pixels, and the class weights */
    double dice;       /* 1 - soft Dice or Tversky of each image */
    double images;
};

/* Adds an image of n pixels: logits[n][classes]; target as in model.h. Pixels with a target below 0
 * are left out. */
void image_loss_add(struct image_loss *l, int classes, const struct loss_terms *terms,
                    const float *logits, const float *target, size_t n);

/* The same of an image in parts. dice: begins as zeros, and is that of one image. */
#define IMAGE_LOSS_CLASSES 256 /* at most */
struct image_loss_dice {
    double common[IMAGE_LOSS_CLASSES], sum[IMAGE_LOSS_CLASSES]; /* as in overlap of metric.c */
};
void image_loss_add_part(struct image_loss *l, struct image_loss_dice *dice, int classes,
                         const struct loss_terms *terms, const float *logits,
                         const float *target, size_t n);
void image_loss_end(struct image_loss *l, const struct image_loss_dice *dice, int classes,
                    const struct loss_terms *terms);

void image_loss_sum(struct image_loss *dst, const struct image_loss *l);

/* Returns ce / weight + dice / images, or only one of the terms. NaN without images. */
double image_loss_mean(const struct image_loss *l, bool has_ce, bool has_dice);
