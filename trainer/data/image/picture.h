/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts a decoded image to the channels that a network takes: grey, RGB, or all of its own.
 *
 * Colour becomes grey by the luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, rounded to a whole
 * sample, so that R = G = B = v gives v. Grey is repeated for RGB. Alpha is dropped, not blended,
 * because some microscopes write it by accident. An image with exactly the network's number of
 * channels is used unchanged. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_PICTURE_H
#define UNETCTL_TRAINER_DATA_IMAGE_PICTURE_H

#include <stddef.h>

#include "trainer/data/image/pixels.h"

/* Returns 0 if img can be converted to that many channels: an image of up to 4 channels to 1 or 3,
 * any image to its own number. Otherwise -1 with ERR_DATA and name in the text. */
int picture_check(const struct pixels *img, int channels, const char *name, struct err *e);

/* Returns the sample of a pixel (row * width + column) in channel 0..channels-1, of img->bits bits.
 * picture_check must have accepted `channels`. */
unsigned picture_sample(const struct pixels *img, size_t pixel, int channel, int channels);

/* dst: [height][width][channels], each sample divided by 255, in 16 bits by 65535. */
void picture_to_float(const struct pixels *img, int channels, float *dst);

/* dst: [height][width][channels]; only for images of 8 bits. */
void picture_to_bytes(const struct pixels *img, int channels, uint8_t *dst);

#endif
