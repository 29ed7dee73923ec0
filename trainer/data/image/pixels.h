/* SPDX-License-Identifier: BSD-3-Clause */
/* A decoded image of any format, and its limits. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_PIXELS_H
#define UNETCTL_TRAINER_DATA_IMAGE_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

/* Limits that decoders check before they allocate memory, so that they never use more than for the
 * file, its samples and 64 MiB. */
#define PIXELS_MAX_SIDE 65535u
#define PIXELS_MAX_BYTES ((uint64_t)1 << 30) /* of decoded samples */
#define PIXELS_MAX_FILE ((size_t)1 << 30)    /* bytes of the file itself */

enum pixels_mode {
    PIXELS_RAW,    /* masks: palette indices; 1-, 2-, 4-bit samples one per byte, not scaled */
    PIXELS_PICTURE /* images: palette as RGB; 1-, 2-, 4-bit samples scaled to 0..255 */
};

#define PIXELS_MAX_CHANNELS 64

struct pixels {
    uint32_t width, height;
    int channels;     /* 1 grey or index, 2 grey and alpha, 3 RGB, 4 RGBA; of TFRecord: any */
    int bits;         /* of a sample here: 8, or 16 (big-endian) */
    int source_bits;  /* of a sample in the file: 1, 2, 4, 8, 16 */
    int pages;        /* pictures in the file, of which this is one */
    uint8_t *samples; /* height x width x channels, interleaved, no padding; malloc'ed */
    size_t nbytes;
    char warning[128]; /* the first warning, or "" */
};

/* Sets channels and bits, allocates zeroed samples for width and height; ERR_DATA when the sides
 * or the bytes are over the limits or there is no memory for them. name: what errors call it. */
int pixels_allocate(struct pixels *img, const char *name, int channels, int bits, struct err *e);
void pixels_free(struct pixels *img); /* the samples; not img itself */

/* Are the sides within the limits? ERR_DATA. */
int pixels_check_size(uint64_t width, uint64_t height, const char *name, struct err *e);

/* SHA-256 of the samples alone, 64 hex digits. */
void pixels_hash(const struct pixels *img, char hex[65]);

/* Sample i (of height x width x channels). */
static inline unsigned pixels_sample(const struct pixels *img, size_t i)
{
    return img->bits == 16 ? (unsigned)img->samples[2 * i] << 8 | img->samples[2 * i + 1]
                           : img->samples[i];
}

/* Colour of a pixel as 0xRRGGBB, the upper 8 bits of each sample. */
static inline uint32_t pixels_colour(const struct pixels *img, size_t pixel)
{
    size_t at = pixel * (size_t)img->channels, step = img->channels >= 3 ? 1 : 0;
    unsigned shift = img->bits == 16 ? 8 : 0;

    return (pixels_sample(img, at) >> shift) << 16 |
           (pixels_sample(img, at + step) >> shift) << 8 |
           pixels_sample(img, at + 2 * step) >> shift;
}

#endif
