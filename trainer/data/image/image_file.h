/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes image files: PNG always, TIFF and JPEG if configure found their libraries. The format is
 * detected by the file's first bytes, not by its name. */
#pragma once

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

/* Reads and writes PNG files. Only png_file.c includes png.h.
 *
 * The decoder checks the header's size against the bytes of the file before it allocates memory,
 * skips text and profiles, and refuses an incomplete image. */
int png_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum pixels_mode mode,
                    struct pixels *img, struct err *e);

/* Writes samples of 8 bits, in 1 channel (grey) or 3 (RGB), to a new file, atomically; an existing
 * file is an error. Equal samples give equal bytes with the same versions of libpng and zlib. */
int png_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                   const uint8_t *samples, struct err *e);

/* As png_file_write, for 1 to 4 channels of 8 or 16 bits. */
int png_file_write_pixels(const char *path, const struct pixels *img, struct err *e);

/* Reads and writes TIFF files (also reads BigTIFF) through libtiff. tiff_file.c is built only if
 * configure found the library.
 *
 * Strips and tiles, interleaved and separate planes, and every compression of libtiff are read:
 * unsigned samples of 1 to 16, 32 and 64 bits, signed ones of 8, 16, 32 and 64, floats of 32 and 64
 * (pixels.h); 1 to 64 bands; grey (white or black is zero), RGB, palette, JPEG's YCbCr. Anything
 * else is refused. Pages that are reduced copies or transparency masks of others do not count. */

/* Decodes one page of a TIFF file in memory, counted from 0; img->pages is set to their number.
 * Other arguments as of png_file_decode. */
int tiff_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, int page,
                     enum pixels_mode mode, struct pixels *img, struct err *e);

/* Writes one picture to a new file, atomically: 32-bit floats from `numbers`, or if that is NULL
 * 8-bit `samples`. Both are [height][width][channels]. ERR_CONFIG if the file exists. */
int tiff_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                    const uint8_t *samples, const float *numbers, struct err *e);

/* Reads JPEG files through libjpeg-turbo. jpeg_file.c is built only if configure found the library.
 *
 * Grey and RGB (stored as YCbCr or as RGB) are read, baseline or progressive. CMYK is refused. EXIF
 * orientation is ignored: an image would be turned, but not its mask. A truncated or damaged file
 * is ERR_DATA. */

/* Decodes a JPEG file in memory, as png_file_decode. Images and masks are read in the same way. */
int jpeg_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum pixels_mode mode,
                     struct pixels *img, struct err *e);
