/* SPDX-License-Identifier: BSD-3-Clause */
/* How the samples of an image become the numbers that a network sees (data.scale). Each image is
 * scaled by itself, and each channel of the network by itself, at the image's own size:
 *
 *   full        v / (largest value of 8 or 16 bits), as picture_to_float
 *   range       (v - smallest) / (largest - smallest)
 *   percentile  the same between the values that 1 % and 99 % of the pixels do not exceed, cut to
 *               0..1; as range if these are equal
 *   zscore      (v - mean) / standard deviation
 *
 * A channel of one value becomes 0. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_SCALE_H
#define UNETCTL_TRAINER_DATA_IMAGE_SCALE_H

#include "trainer/data/image/pixels.h"

enum scale { SCALE_FULL, SCALE_RANGE, SCALE_PERCENTILE, SCALE_ZSCORE };

/* Returns -1 with ERR_DATA for an unknown word. */
int scale_decode(const char *word, enum scale *scale, struct err *e);

/* dst: [height][width][channels]. picture_check must have accepted `channels`. ERR_DATA: SCALE_FULL
 * of a picture that is PIXELS_STRETCHED. */
int scale_picture(const struct pixels *img, int channels, enum scale scale, const char *name,
                  float *dst, struct err *e);

/* Returns a number for drawing, 0..1: of zscore two deviations around the mean. */
static inline float scale_shown(enum scale scale, float v)
{
    if (scale == SCALE_ZSCORE)
        v = 0.5f + v / 4;
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

#endif
