/* SPDX-License-Identifier: BSD-3-Clause */
/* A decoded image of any format, and the limits that all decoders keep to. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_PIXELS_H
#define UNETCTL_TRAINER_DATA_IMAGE_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

/* Decoders check these limits before they allocate. Beside the file and its samples, a progressive
 * JPEG takes up to three times the samples, a TIFF its largest strip or tile, and each decoder some
 * MiB. */
#define PIXELS_MAX_SIDE 65535u
/* Bytes of a picture's samples, a TIFF strip, an idx file; also values of a TFRecord's tensor. */
#define PIXELS_MAX_BYTES ((uint64_t)1 << 30)
#define PIXELS_MAX_FILE ((size_t)1 << 30)    /* of an image file or a TFRecord record */

/* A byte of data compressed by deflate expands to at most 1032 bytes (zlib's documentation). A file
 * whose header claims more is refused before memory is allocated. */
#define PIXELS_DEFLATE_RATIO 1032u

enum pixels_mode {
    /* For masks: palette indices; samples of 1, 2 and 4 bits unscaled, one per byte. */
    PIXELS_RAW,
    PIXELS_SIZE,   /* no samples: only width and height are read */
    PIXELS_PICTURE /* for images: palette as RGB; samples of 1, 2 and 4 bits scaled to 0..255 */
};

#define PIXELS_MAX_CHANNELS 64

/* What the samples alone do not show. source/remarks.c says it to the user. */
enum pixels_flag {
    PIXELS_ORIENTED = 1 << 0,   /* the file asks to turn the picture, which is as it is stored */
    PIXELS_TURNED = 1 << 1,     /* it was turned (orientation.h) */
    PIXELS_WHITE_ZERO = 1 << 2, /* white is zero in the file; the samples are inverted */
    PIXELS_ALPHA = 1 << 3,      /* alpha is not equal in all pixels */
    PIXELS_BAND = 1 << 4,       /* the second of 2 or fourth of 4 channels is not alpha */
    PIXELS_STACK = 1 << 5,      /* ImageJ: one directory describes several pictures */
    PIXELS_OVERVIEWS = 1 << 6,  /* pages that hold reduced copies were skipped */
    PIXELS_STRETCHED = 1 << 7   /* samples are values mapped from low..high (levels.h) */
};
#define PIXELS_NFLAGS 8

struct pixels {
    uint32_t width, height;
    int channels;     /* 1 grey or index, 2 grey and alpha, 3 RGB, 4 RGBA, or bands */
    int bits;         /* of a sample in memory: 8, or 16 (big-endian) */
    int source_bits;  /* of a sample in the file: 1 to 16 */
    int pages;        /* number of pictures in the file; this is one of them */
    uint8_t *samples; /* height x width x channels, interleaved, without padding; owned */
    size_t nbytes;
    unsigned flags;   /* enum pixels_flag */
    int orientation;  /* of EXIF and TIFF, 1 to 8; 0 or 1: as stored */
    double low, high; /* with PIXELS_STRETCHED: the values of samples 0 and 65535 */
    /* The decoder's first, or from image_file_read that there are further pages; or "". */
    char warning[128];
};

/* Allocates zeroed samples for img->width and img->height, and sets channels, bits and nbytes.
 * name: the file's name in errors. ERR_DATA if a side or the total exceeds the limits, or memory is
 * short. */
int pixels_allocate(struct pixels *img, const char *name, int channels, int bits, struct err *e);
void pixels_free(struct pixels *img); /* frees the samples, not img */

/* Returns 0 if both sides are from 1 to PIXELS_MAX_SIDE, otherwise -1 with ERR_DATA. */
int pixels_check_size(uint64_t width, uint64_t height, const char *name, struct err *e);

/* The SHA-256 of the samples without the shape, in hex. */
void pixels_hash(const struct pixels *img, char hex[65]);

/* Sets sample i, the reverse of pixels_sample. */
static inline void pixels_set(struct pixels *img, size_t i, unsigned v)
{
    if (img->bits == 16) {
        img->samples[2 * i] = (uint8_t)(v >> 8);
        img->samples[2 * i + 1] = (uint8_t)v;
    } else {
        img->samples[i] = (uint8_t)v;
    }
}

/* Returns sample i of height x width x channels. */
static inline unsigned pixels_sample(const struct pixels *img, size_t i)
{
    return img->bits == 16 ? (unsigned)img->samples[2 * i] << 8 | img->samples[2 * i + 1]
                           : img->samples[i];
}

/* Returns the colour of a pixel as 0xRRGGBB, from the upper 8 bits of each sample. */
static inline uint32_t pixels_colour(const struct pixels *img, size_t pixel)
{
    size_t at = pixel * (size_t)img->channels, step = img->channels >= 3 ? 1 : 0;
    unsigned shift = img->bits == 16 ? 8 : 0;

    return (pixels_sample(img, at) >> shift) << 16 |
           (pixels_sample(img, at + step) >> shift) << 8 |
           pixels_sample(img, at + 2 * step) >> shift;
}

#endif
