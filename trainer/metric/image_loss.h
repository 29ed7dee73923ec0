/* SPDX-License-Identifier: BSD-3-Clause */
/* The training's loss of validation images: the formulas of backends/ref/{bce,softmax_ce,dice}.c,
 * without gradients. */
#ifndef UNETCTL_TRAINER_METRIC_IMAGE_LOSS_H
#define UNETCTL_TRAINER_METRIC_IMAGE_LOSS_H

#include <stdbool.h>
#include <stddef.h>

#define IMAGE_LOSS_CLASSES 256 /* at most */

/* Sums over images, which ranks can sum. All are doubles. */
struct image_loss {
    double ce, weight; /* cross entropies by class weight; those weights */
    double dice, images;
};

/* Adds an image of n pixels: logits[n][classes], target and class_weights (NULL: 1) as network.h
 * has them. */
void image_loss_add(struct image_loss *l, int classes, const float *class_weights,
                    const float *logits, const float *target, size_t n);

void image_loss_sum(struct image_loss *dst, const struct image_loss *l);

/* ce / weight + dice / images, or only one of them. NaN without images. */
double image_loss_mean(const struct image_loss *l, bool has_ce, bool has_dice);

#endif
