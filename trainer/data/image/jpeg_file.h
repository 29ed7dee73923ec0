/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads JPEG files through libjpeg-turbo. jpeg_file.c is built only if configure found the library.
 *
 * Grey and RGB (stored as YCbCr or as RGB) are read, baseline or progressive. CMYK is refused. EXIF
 * orientation is ignored: an image would be turned, but not its mask. A truncated or damaged file
 * is ERR_DATA. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_JPEG_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_JPEG_FILE_H

#include "trainer/data/image/pixels.h"

/* Decodes a JPEG file in memory, as png_file_decode. Images and masks are read in the same way. */
int jpeg_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum pixels_mode mode,
                     struct pixels *img, struct err *e);

#endif
