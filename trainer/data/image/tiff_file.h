/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes TIFF files (also reads BigTIFF) through libtiff. tiff_file.c is built only if
 * configure found the library.
 *
 * Strips and tiles, interleaved and separate planes, and every compression of libtiff are read:
 * unsigned samples of 1 to 16, 32 and 64 bits, signed ones of 8, 16, 32 and 64, floats of 32 and 64
 * (levels.h); 1 to 64 bands; grey (white or black is zero), RGB, palette, JPEG's YCbCr. Anything
 * else is refused. Pages that are reduced copies or transparency masks of others do not count. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_TIFF_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_TIFF_FILE_H

#include "trainer/data/image/pixels.h"

/* Decodes one page of a TIFF file in memory, counted from 0; img->pages is set to their number.
 * Other arguments as of png_file_decode. */
int tiff_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, int page,
                     enum pixels_mode mode, struct pixels *img, struct err *e);

/* Writes one picture to a new file, atomically: 32-bit floats from `numbers`, or if that is NULL
 * 8-bit `samples`. Both are [height][width][channels]. ERR_CONFIG if the file exists. */
int tiff_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                    const uint8_t *samples, const float *numbers, struct err *e);

#endif
