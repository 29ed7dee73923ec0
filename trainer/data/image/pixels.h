/* SPDX-License-Identifier: BSD-3-Clause */
/* A decoded image: what every format becomes, and how much of it there may be. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_PIXELS_H
#define UNETCTL_TRAINER_DATA_IMAGE_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

/* Files come from anywhere. A decoder checks these before it allocates anything, so that it never
 * holds more than the file, the samples and 64 MiB. */
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
    int pages;        /* pictures in the file; this is one of them */
    uint8_t *samples; /* height x width x channels, interleaved, no padding; malloc'ed */
    size_t nbytes;
    char warning[128]; /* first complaint that was not fatal, "" if none */
};

/* Sets channels and bits, allocates zeroed samples for width and height; ERR_DATA when the sides
 * or the bytes are over the limits or there is no memory for them. name: what errors call it. */
int pixels_allocate(struct pixels *img, const char *name, int channels, int bits, struct err *e);
void pixels_free(struct pixels *img); /* the samples; not img itself */

/* Sides within the limits? ERR_DATA if not. */
int pixels_check_size(uint64_t width, uint64_t height, const char *name, struct err *e);

/* SHA-256 of the samples alone, 64 hex digits. */
void pixels_hash(const struct pixels *img, char hex[65]);

/* Sample i (of height x width x channels). */
static inline unsigned pixels_sample(const struct pixels *img, size_t i)
{
    return img->bits == 16 ? (unsigned)img->samples[2 * i] << 8 | img->samples[2 * i + 1]
                           : img->samples[i];
}

#endif
