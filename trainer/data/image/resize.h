/* SPDX-License-Identifier: BSD-3-Clause */
/* Resizes with the aspect ratio kept and pads with zeros around the centred result, as TensorFlow's
 * image.resize_with_pad does: bilinear, half-pixel centres, no antialiasing. resize_stretch fills
 * the destination instead, and resize_pad_labels takes the nearest pixel. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_RESIZE_H
#define UNETCTL_TRAINER_DATA_IMAGE_RESIZE_H

#include <stdint.h>

/* Where a resized source lies in its destination. */
struct resize_fit {
    int height, width; /* size of the resized source, at least 1 */
    int top, left;     /* rows and columns of padding before it */
};

/* Returns the place of a source of any aspect ratio. All sides are from 1 to 65535. Equal aspect
 * ratios give the whole destination. */
struct resize_fit resize_fit(int src_height, int src_width, int dst_height, int dst_width);

/* src: [src_height][src_width][channels]; dst: [dst_height][dst_width][channels], of which every
 * element is written. Equal sizes are copied. src and dst must not overlap. */
void resize_pad(const float *src, int src_height, int src_width, float *dst, int dst_height,
                int dst_width, int channels);

/* Fills dst without padding; the aspect ratio may change. Arguments as of resize_pad. */
void resize_stretch(const float *src, int src_height, int src_width, float *dst, int dst_height,
                    int dst_width, int channels);

/* As resize_pad for labels, [height][width]: each takes the source pixel in which its centre lies.
 * padding: the label around the result. */
void resize_pad_labels(const uint8_t *src, int src_height, int src_width, uint8_t *dst,
                       int dst_height, int dst_width, uint8_t padding);

#endif
