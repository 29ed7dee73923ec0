/* SPDX-License-Identifier: BSD-3-Clause */
/* The training loss of validation images, by the formulas of backends/ref/{bce,softmax_ce,dice}.c
 * without gradients. */
#ifndef UNETCTL_TRAINER_METRIC_IMAGE_LOSS_H
#define UNETCTL_TRAINER_METRIC_IMAGE_LOSS_H

#include <stdbool.h>
#include <stddef.h>

#define IMAGE_LOSS_CLASSES 256 /* at most */

/* Sums over images. The ranks sum them as an array of doubles. */
struct image_loss {
    double ce, weight; /* weighted cross entropies of the pixels, and the class weights */
    double dice;       /* 1 - soft Dice of each image */
    double images;
};

/* Adds an image of n pixels: logits[n][classes]; target and the weights of cross entropy and Dice
 * (NULL: 1) as in model.h. Pixels with a target below 0 are left out. */
void image_loss_add(struct image_loss *l, int classes, const float *ce_weights,
                    const float *dice_weights, const float *logits, const float *target, size_t n);

void image_loss_sum(struct image_loss *dst, const struct image_loss *l);

/* Returns ce / weight + dice / images, or only one of the terms. NaN without images. */
double image_loss_mean(const struct image_loss *l, bool has_ce, bool has_dice);

#endif
