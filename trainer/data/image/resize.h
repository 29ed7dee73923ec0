/* SPDX-License-Identifier: BSD-3-Clause */
/* Resize with the aspect ratio kept, then zero padding, centred: what TensorFlow's
 * image.resize_with_pad does (bilinear, half-pixel centres, no antialiasing). */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_RESIZE_H
#define UNETCTL_TRAINER_DATA_IMAGE_RESIZE_H

#include <stdint.h>

/* The place of a resized source in a destination. */
struct resize_fit {
    int height, width; /* of the resized picture, at least 1 */
    int top, left;     /* rows and columns of padding before it */
};

/* All sides from 1 to 65535. Equal sizes give the whole destination. */
struct resize_fit resize_fit(int src_height, int src_width, int dst_height, int dst_width);

/* src: [src_height][src_width][channels]; dst: [dst_height][dst_width][channels], every element
 * is written. Equal sizes copy. src and dst do not overlap. */
void resize_pad(const float *src, int src_height, int src_width, float *dst, int dst_height,
                int dst_width, int channels);

/* Without padding: fills dst, whatever the aspect ratios are. */
void resize_stretch(const float *src, int src_height, int src_width, float *dst, int dst_height,
                    int dst_width, int channels);

/* As resize_pad for labels, [height][width]: the nearest source pixel (that on whose area the
 * centre of the destination's lies), `padding` around it. */
void resize_pad_labels(const uint8_t *src, int src_height, int src_width, uint8_t *dst,
                       int dst_height, int dst_width, uint8_t padding);

#endif
