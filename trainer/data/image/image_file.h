/* SPDX-License-Identifier: BSD-3-Clause */
/* Image files of any kind: PNG always, TIFF and JPEG where their libraries were found. The content
 * decides, never the name. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_IMAGE_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_IMAGE_FILE_H

#include "trainer/data/image/pixels.h"

/* bytes: a whole file; name: what errors call it. page: which of its pictures, from 0 (only TIFF
 * has more than one). Fills img, or ERR_DATA. */
int image_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, int page,
                      enum pixels_mode mode, struct pixels *img, struct err *e);

/* The first picture of a file by path; more pages are a warning in img. */
int image_file_read(const char *path, enum pixels_mode mode, struct pixels *img, struct err *e);

/* Width and height from the header alone; ERR_DATA when it is not an image or exceeds the
 * limits. */
int image_file_size(const char *path, uint32_t *width, uint32_t *height, struct err *e);

#endif
