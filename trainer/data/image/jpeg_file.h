/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads JPEG files through libjpeg-turbo. jpeg_file.c is built only if configure found the library.
 *
 * Grey and RGB (stored as YCbCr or as RGB) are read, baseline or progressive. CMYK is refused. EXIF
 * orientation is ignored: an image would be turned, but not its mask. A truncated or damaged file
 * is ERR_DATA. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_JPEG_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_JPEG_FILE_H

#include "trainer/data/image/pixels.h"

/* Decode a JPEG file in memory, and read its width and height. The arguments and results are those
 * of png_file_decode and png_file_size; there is no mode. */
int jpeg_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, struct pixels *img,
                     struct err *e);
int jpeg_file_size(const uint8_t *bytes, size_t nbytes, const char *name, uint32_t *width,
                   uint32_t *height, struct err *e);

#endif
