/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes PNG files. Only png_file.c includes png.h.
 *
 * The decoder checks the header's size against the bytes of the file before it allocates memory,
 * skips text and profiles, and refuses an incomplete image. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_PNG_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_PNG_FILE_H

#include "trainer/data/image/pixels.h"

/* Decodes a PNG file in memory. name: the file's name in errors. Fills img, whose samples the
 * caller frees with pixels_free, or returns -1, with ERR_DATA unless libpng lacks memory. For
 * PIXELS_SIZE the first PNG_FILE_HEAD bytes are enough. */
#define PNG_FILE_HEAD 33 /* signature 8, IHDR: length 4, type 4, data 13, CRC 4 */
int png_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum pixels_mode mode,
                    struct pixels *img, struct err *e);

/* Writes samples of 8 bits, in 1 channel (grey) or 3 (RGB), to a new file, atomically; an existing
 * file is an error. Equal samples give equal bytes with the same versions of libpng and zlib. */
int png_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                   const uint8_t *samples, struct err *e);

/* As png_file_write, for 1 to 4 channels of 8 or 16 bits. */
int png_file_write_pixels(const char *path, const struct pixels *img, struct err *e);

#endif
