/* SPDX-License-Identifier: BSD-3-Clause */
/* JPEG files through libjpeg-turbo; the only file that includes jpeglib.h. Built only where it was
 * found.
 *
 * Grey and RGB (from YCbCr), baseline and progressive. CMYK is refused. EXIF orientation is not
 * applied, as image and mask would differ. Damage (an early end, bad codes) is an error. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_JPEG_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_JPEG_FILE_H

#include "trainer/data/image/pixels.h"

/* As png_file_decode. */
int jpeg_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, struct pixels *img,
                     struct err *e);

int jpeg_file_size(const uint8_t *bytes, size_t nbytes, const char *name, uint32_t *width,
                   uint32_t *height, struct err *e);

#endif
