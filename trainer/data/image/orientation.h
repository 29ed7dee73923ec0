/* SPDX-License-Identifier: BSD-3-Clause */
/* The orientation of EXIF and TIFF: 1 as stored, 2 mirrored, 3 turned by half, 4 mirrored and so,
 * 5 to 8 the same with rows and columns exchanged. Viewers and programs for drawing masks show a
 * picture upright, and most libraries that read it do not turn it. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_ORIENTATION_H
#define UNETCTL_TRAINER_DATA_IMAGE_ORIENTATION_H

#include "trainer/data/image/pixels.h"

/* Returns the orientation in EXIF data (a TIFF directory without picture), or 1. */
int orientation_of_exif(const uint8_t *exif, size_t n);

/* Exchanges width and height if the orientation does so. */
void orientation_size(int orientation, uint32_t *width, uint32_t *height);

/* Turns the picture upright; 0 and 1 leave it. ERR_DATA: no memory. */
int orientation_turn(struct pixels *img, int orientation, const char *name, struct err *e);

/* Turns an image and its mask, each as its own file says, if their sizes agree then; otherwise
 * neither is turned. mask: NULL, or without samples, for an image alone, which is turned. Sets
 * orientation to what was applied, and PIXELS_TURNED instead of PIXELS_ORIENTED. */
int orientation_apply(struct pixels *img, struct pixels *mask, const char *name, struct err *e);

#endif
