/* SPDX-License-Identifier: BSD-3-Clause */
/* PNG files in and out; the only file that includes png.h.
 *
 * Sides and total size are checked against the bytes of the file before anything is allocated, text
 * and profiles are not read, and an incomplete image is an error. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_PNG_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_PNG_FILE_H

#include "trainer/data/image/pixels.h"

/* bytes: a whole PNG file; name: what errors call it. Fills img, or ERR_DATA. */
int png_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum pixels_mode mode,
                    struct pixels *img, struct err *e);

/* Width and height from the header alone; ERR_DATA when it is damaged or over the limits. */
int png_file_size(const uint8_t *bytes, size_t nbytes, const char *name, uint32_t *width,
                  uint32_t *height, struct err *e);

/* Writes 8-bit samples with 1 (grey) or 3 (RGB) channels to a new file, atomically. Equal samples
 * give equal files (with the same libpng and zlib). */
int png_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                   const uint8_t *samples, struct err *e);

/* The same of any pixels: 8 or 16 bits, 1 to 4 channels. */
int png_file_write_pixels(const char *path, const struct pixels *img, struct err *e);

#endif
