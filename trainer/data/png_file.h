/* SPDX-License-Identifier: BSD-3-Clause */
/* PNG files in and out; the only file that includes png.h.
 *
 * Files come from anywhere, so a claim in a header is believed only as far as the bytes behind it
 * go: sides and total size are checked before anything is allocated, text and profiles are skipped
 * unread, and an image that is not there to its last row is an error, never half a picture. */
#ifndef UNETCTL_TRAINER_DATA_PNG_FILE_H
#define UNETCTL_TRAINER_DATA_PNG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

#define PNG_FILE_MAX_SIDE 65535u
#define PNG_FILE_MAX_SAMPLES ((uint64_t)1 << 30) /* bytes of decoded samples */
#define PNG_FILE_MAX_FILE ((size_t)1 << 30)      /* bytes of the file itself */

enum png_file_mode {
    PNG_FILE_RAW,    /* masks: palette indices; 1-, 2-, 4-bit samples one per byte, not scaled */
    PNG_FILE_PICTURE /* images: palette as RGB; 1-, 2-, 4-bit samples scaled to 0..255 */
};

struct png_pixels {
    uint32_t width, height;
    int channels;     /* 1 grey or index, 2 grey and alpha, 3 RGB, 4 RGBA */
    int bits;         /* of a sample here: 8, or 16 (big-endian, as in the file) */
    int source_bits;  /* of a sample in the file: 1, 2, 4, 8, 16 */
    uint8_t *samples; /* height x width x channels, interleaved, no padding; malloc'ed */
    size_t nbytes;
    char warning[128]; /* first complaint of libpng that was not fatal, "" if none */
};

/* bytes: a whole PNG file; name: what errors call it. Fills img, or ERR_DATA. */
int png_file_decode(const uint8_t *bytes, size_t nbytes, const char *name,
                    enum png_file_mode mode, struct png_pixels *img, struct err *e);

/* The same of a file by path. */
int png_file_read(const char *path, enum png_file_mode mode, struct png_pixels *img, struct err *e);

void png_pixels_free(struct png_pixels *img); /* the samples; not img itself */

/* Width and height from the header alone; ERR_DATA when it is no PNG or over the limits. */
int png_file_size(const char *path, uint32_t *width, uint32_t *height, struct err *e);

/* Sample i (of height x width x channels). */
static inline unsigned png_pixels_sample(const struct png_pixels *img, size_t i)
{
    return img->bits == 16 ? (unsigned)img->samples[2 * i] << 8 | img->samples[2 * i + 1]
                           : img->samples[i];
}

/* 8-bit samples, channels 1 (grey) or 3 (RGB), to path, atomically. Equal samples give equal files
 * (with the same libpng and zlib). */
int png_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                   const uint8_t *samples, struct err *e);

#endif
