/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes image files: PNG always, TIFF and JPEG if configure found their libraries. The format is
 * detected by the file's first bytes, not by its name. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_IMAGE_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_IMAGE_FILE_H

#include "trainer/data/image/pixels.h"

/* Decodes a file that is in memory. name: the file's name in errors. page: the number of the
 * picture, counted from 0; only TIFF files have more than one. Fills img, whose samples the caller
 * frees with pixels_free, or returns -1, with ERR_DATA unless libpng lacks memory. */
int image_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, int page,
                      enum pixels_mode mode, struct pixels *img, struct err *e);

/* Reads a file and decodes its first picture. If there are more pages, img->warning says so. */
int image_file_read(const char *path, enum pixels_mode mode, struct pixels *img, struct err *e);

/* Returns what a file is, and how to convert it, if it is a picture in a format that is not read,
 * such as "GIF is not read: ..."; otherwise NULL. */
const char *image_file_foreign(const char *path);

/* Reads width and height from the file's header. ERR_DATA if the file is not an image, or a side is
 * 0 or longer than PIXELS_MAX_SIDE. */
int image_file_size(const char *path, uint32_t *width, uint32_t *height, struct err *e);

#endif
