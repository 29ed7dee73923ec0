/* SPDX-License-Identifier: BSD-3-Clause */
/* The channels of a decoded image for a network: grey or RGB from any file.
 *
 * Colour becomes grey by Rec. 601 luma, 0.299 R + 0.587 G + 0.114 B, rounded to a whole sample, so
 * that a grey picture stored as RGB gives exactly its grey values. Grey becomes RGB by repetition.
 * Alpha is dropped, not blended, as microscopes write it by accident. If the network has as many
 * channels as the image, they are used as they are. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_PICTURE_H
#define UNETCTL_TRAINER_DATA_IMAGE_PICTURE_H

#include <stddef.h>

#include "trainer/data/image/pixels.h"

/* Can img have so many channels? 1 and 3 for images with up to 4, else the image's own number.
 * ERR_DATA with name. */
int picture_check(const struct pixels *img, int channels, const char *name, struct err *e);

/* Sample of a pixel (row * width + column) in channel 0..channels-1, as picture_check allows. The
 * range is that of img->bits. */
unsigned picture_sample(const struct pixels *img, size_t pixel, int channel, int channels);

/* [height][width][channels], 0..1: value / 255 or / 65535. */
void picture_to_float(const struct pixels *img, int channels, float *dst);

/* The same samples as bytes; only for 8-bit images. */
void picture_to_bytes(const struct pixels *img, int channels, uint8_t *dst);

#endif
