/* SPDX-License-Identifier: BSD-3-Clause */
/* TIFF files (also BigTIFF) through libtiff; the only file that includes tiffio.h. Built only where
 * libtiff was found.
 *
 * Strips and tiles, contiguous and separate planes, any compression that libtiff has; 1, 2, 4, 8
 * and 16 bits of unsigned samples; grey (white or black is zero), RGB, palette, YCbCr in JPEG; one
 * further sample is alpha. Orientation is not applied: image and mask would not be treated alike.
 * Anything else is refused. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_TIFF_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_TIFF_FILE_H

#include "trainer/data/image/pixels.h"

/* As png_file_decode; page counts from 0, img->pages says how many there are. */
int tiff_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, int page,
                     enum pixels_mode mode, struct pixels *img, struct err *e);

/* Writes one picture to a new file, atomically: 32-bit floats if numbers is not NULL, else 8-bit
 * samples; channels interleaved. */
int tiff_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                    const uint8_t *samples, const float *numbers, struct err *e);

int tiff_file_size(const uint8_t *bytes, size_t nbytes, const char *name, uint32_t *width,
                   uint32_t *height, struct err *e);

#endif
