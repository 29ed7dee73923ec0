/* SPDX-License-Identifier: BSD-3-Clause */
/* Images and masks as pixels: decoded from files, converted, resized, and masks read as classes.
 *
 * Its data are struct pixels, samples of 8 or 16 bits as the file has them, and struct classes,
 * what the values of masks mean. source/ and set/ decode with it, prepare/ and cmd/ also write PNG
 * files. Every decoder checks what a header claims against the limits below and the bytes really
 * there before it allocates; a file that is wrong is ERR_DATA, whose text has the file's name.
 * Functions keep no state, so that any thread may call them.
 *
 * To read: this file and pixels.c for what happens to samples; image_file.h, image_file.c and one
 * of the decoders, png_file.c; then classes.h and classes.c. */
#pragma once

#include "src/base.h"

#include <math.h>

/* Decoders check these limits before they allocate. Beside the file and its samples, a progressive
 * JPEG takes up to three times the samples, a TIFF its largest strip or tile, and each decoder some
 * MiB. */
#define PIXELS_MAX_SIDE 65535u
/* Bytes of a picture's samples, a TIFF strip, an idx file; also values of a TFRecord's tensor. */
#define PIXELS_MAX_BYTES ((uint64_t)1 << 30)
#define PIXELS_MAX_FILE ((size_t)1 << 30)    /* of an image file or a TFRecord record */

enum pixels_mode {
    /* For masks: palette indices; samples of 1, 2 and 4 bits unscaled, one per byte. */
    PIXELS_RAW,
    PIXELS_SIZE,   /* no samples: only width and height are read */
    PIXELS_PICTURE /* for images: palette as RGB; samples of 1, 2 and 4 bits scaled to 0..255 */
};

#define PIXELS_MAX_CHANNELS 64

/* What the samples alone do not show. source/mask_stats.c says it to the user. */
enum pixels_flag {
    PIXELS_ORIENTED = 1 << 0,   /* the file asks to turn the picture, which is as it is stored */
    PIXELS_TURNED = 1 << 1,     /* it was turned (orientation_turn) */
    PIXELS_WHITE_ZERO = 1 << 2, /* white is zero in the file; the samples are inverted */
    PIXELS_ALPHA = 1 << 3,      /* alpha is not equal in all pixels */
    PIXELS_BAND = 1 << 4,       /* the second of 2 or fourth of 4 channels is not alpha */
    PIXELS_STACK = 1 << 5,      /* ImageJ: one directory describes several pictures */
    PIXELS_OVERVIEWS = 1 << 6,  /* pages that hold reduced copies were skipped */
    PIXELS_STRETCHED = 1 << 7   /* samples are values mapped from low..high (levels_choose) */
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
    double low, high; /* the values of samples 0 and 65535; 0 and 0: samples are values */
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

/* Holds values that do not fit 8 or 16 bits without a sign (floats, signed and 32-bit numbers) as
 * samples of 8 or 16 bits.
 *
 * A picture's floats from 0 to 1 become 0 to 65535, and its whole numbers from 0 to 65535 stay. Any
 * other picture is PIXELS_STRETCHED: its smallest value becomes 0 and its largest 65535. Masks must
 * hold whole numbers from 0 to 65535, which stay, in 8 bits if none exceeds 255. */

struct levels {
    bool real;         /* the type of the values is a float */
    double min, max;   /* of the values so far; NAN before the first */
    double wrong;      /* a value that is not whole, or NAN */
    bool infinite;     /* some value is not finite */
    double base, step; /* set by levels_choose: a sample is (value - base) * step */
};

/* Begins to examine values of a picture. */
static inline struct levels levels_begin(bool real)
{
    return (struct levels){.real = real, .min = (double)NAN, .max = (double)NAN,
                           .wrong = (double)NAN};
}

static inline void levels_add(struct levels *l, double v)
{
    l->infinite |= !isfinite(v);
    if (!(v >= l->min))
        l->min = v;
    if (!(v <= l->max))
        l->max = v;
    if (l->real && v != floor(v))
        l->wrong = v;
}

/* Decides, after all values were added, how they are held: sets bits, source_bits, nbytes, flags,
 * low and high of img, which has been allocated with 16 bits. ERR_DATA for values that a mask
 * (PIXELS_RAW) cannot have, or that are not finite. */
int levels_choose(struct levels *l, const char *name, enum pixels_mode mode, struct pixels *img,
                  struct err *e);

static inline unsigned levels_sample(const struct levels *l, double v)
{
    return (unsigned)((v - l->base) * l->step + 0.5);
}

/* How the samples of an image become the numbers that a network sees (data.scale). Each image is
 * scaled by itself, and each channel of the network by itself, at the image's own size:
 *
 *   full        v / (largest value of 8 or 16 bits), as picture_to_float
 *   range       (v - smallest) / (largest - smallest)
 *   percentile  the same between the values that 1 % and 99 % of the pixels do not exceed, cut to
 *               0..1; as range if these are equal
 *   zscore      (v - mean) / standard deviation
 *   auto        (v - levels[0]) / (levels[1] - levels[0]), cut to 0..1, the same for all images of
 *               a set; pictures of 8 bits and in colour, and all without levels, as full
 *
 * A channel of one value becomes 0. */

enum scale { SCALE_FULL, SCALE_RANGE, SCALE_PERCENTILE, SCALE_ZSCORE, SCALE_AUTO };

/* What the images of a set hold, which split.json and model.json record. */
struct picture_levels {
    int bits;         /* as pixels_bits, the most of an image; 0: unknown */
    double values[2]; /* for SCALE_AUTO: what becomes 0 and 1; equal: full range */
};

/* Returns the bits that the samples use: 8, of deeper whole numbers 9 to 16 by the largest, and 32
 * for values that samples only stand for (floats, negative numbers). */
int pixels_bits(const struct pixels *img);

/* Returns whether full range, or the levels of another set, would show the network images of `bits`
 * in another brightness than those of `trained` bits. False if one is 0. */
bool bits_differ(int bits, int trained);

/* Returns whether SCALE_AUTO maps the picture by levels: it has more than 8 bits and no colours. */
bool picture_has_levels(const struct pixels *img);

/* Sets values to quantiles of all samples of a picture of 16 bits: values[k] is what a share of
 * (k + 1/2) / SCALE_POINTS does not exceed, so that 1 and 148 are 1 % and 99 %. */
#define SCALE_POINTS 150
int picture_points(const struct pixels *img, float values[SCALE_POINTS], struct err *e);

/* Returns -1 with ERR_DATA for an unknown word. */
int scale_decode(const char *word, enum scale *scale, struct err *e);

/* dst: [height][width][channels]. picture_check must have accepted `channels`. levels: of
 * SCALE_AUTO, otherwise NULL. ERR_DATA: full range of a picture that is PIXELS_STRETCHED. */
int scale_picture(const struct pixels *img, int channels, enum scale scale, const double levels[2],
                  const char *name, float *dst, struct err *e);

/* Returns a number for drawing, 0..1: of zscore two deviations around the mean. */
static inline float scale_shown(enum scale scale, float v)
{
    if (scale == SCALE_ZSCORE)
        v = 0.5f + v / 4;
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

/* Converts a decoded image to the channels that a network takes: grey, RGB, or all of its own.
 *
 * Colour becomes grey by the luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, rounded to a whole
 * sample, so that R = G = B = v gives v. Grey is repeated for RGB. Alpha is dropped, not blended,
 * because some microscopes write it by accident. An image with exactly the network's number of
 * channels is used unchanged. */

/* Returns 0 if img can be converted to that many channels: an image of up to 4 channels to 1 or 3,
 * any image to its own number. Otherwise -1 with ERR_DATA and name in the text. */
int picture_check(const struct pixels *img, int channels, const char *name, struct err *e);

/* Returns the sample of a pixel (row * width + column) in channel 0..channels-1, of img->bits bits.
 * picture_check must have accepted `channels`. */
unsigned picture_sample(const struct pixels *img, size_t pixel, int channel, int channels);

/* dst: [height][width][channels], each sample divided by 255, in 16 bits by 65535. */
void picture_to_float(const struct pixels *img, int channels, float *dst);

/* dst: [height][width][channels]; only for images of 8 bits. */
void picture_to_bytes(const struct pixels *img, int channels, uint8_t *dst);

/* The orientation of EXIF and TIFF: 1 as stored, 2 mirrored, 3 turned by half, 4 mirrored and so,
 * 5 to 8 the same with rows and columns exchanged. Viewers and programs for drawing masks show a
 * picture upright, and most libraries that read it do not turn it. */

/* Returns the orientation in EXIF data (a TIFF directory without picture), or 1. */
int orientation_of_exif(const uint8_t *exif, size_t n);

/* Exchanges width and height if the orientation does so. */
void orientation_size(int orientation, uint32_t *width, uint32_t *height);

/* Turns the picture upright; 0 and 1 leave it. ERR_DATA: no memory. */
int orientation_turn(struct pixels *img, int orientation, const char *name, struct err *e);

/* Turns an image and its mask, each as its own file says, if their sizes agree then; otherwise
 * neither is turned. mask: NULL, or without samples, for an image alone, which is turned. Sets
 * orientation to what was applied, and PIXELS_TURNED instead of PIXELS_ORIENTED. */
int orientation_apply(struct pixels *img, struct pixels *mask, const char *name, struct err *e);

/* Resizes with the aspect ratio kept and pads with zeros around the centred result, as TensorFlow's
 * image.resize_with_pad does: bilinear, half-pixel centres, no antialiasing. resize_stretch fills
 * the destination instead, and resize_pad_labels takes the nearest pixel. */

/* Where a resized source lies in its destination. */
struct resize_fit {
    int height, width; /* size of the resized source, at least 1 */
    int top, left;     /* rows and columns of padding before it */
};

/* Returns the place of a source of any aspect ratio. All sides are from 1 to 65535. Equal aspect
 * ratios give the whole destination. */
struct resize_fit resize_fit(int src_height, int src_width, int dst_height, int dst_width);

/* src: [src_height][src_width][channels]; dst: [dst_height][dst_width][channels], of which every
 * element is written. Equal sizes are copied. src and dst must not overlap. */
void resize_pad(const float *src, int src_height, int src_width, float *dst, int dst_height,
                int dst_width, int channels);

/* Fills dst without padding; the aspect ratio may change. Arguments as of resize_pad. */
void resize_stretch(const float *src, int src_height, int src_width, float *dst, int dst_height,
                    int dst_width, int channels);

/* As resize_pad for labels, [height][width]: each takes the source pixel in which its centre lies.
 * padding: the label around the result. */
void resize_pad_labels(const uint8_t *src, int src_height, int src_width, uint8_t *dst,
                       int dst_height, int dst_width, uint8_t padding);
