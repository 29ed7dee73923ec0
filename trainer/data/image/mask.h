/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary masks, foreground and background. Masks of several classes are in classes.h.
 *
 * A mask has one channel of values as stored: grey values, palette indices, or RGB with R = G = B;
 * alpha is dropped. All masks of a data set share a scale: foreground is 1 (unit), or the largest
 * value of a sample (full: 2^bits - 1, such as 255 or 65535). A mask of 1 bit fits both. Soft masks
 * may also hold values between, as the share of foreground. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_MASK_H
#define UNETCTL_TRAINER_DATA_IMAGE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "trainer/data/image/pixels.h"

/* The scale of all masks of a data set; the numbers are those of split.json. MASK_CLASS: the values
 * are class labels. */
enum mask_scale { MASK_CLASS = 0, MASK_UNIT = 1, MASK_FULL = 255 };

/* How the masks of a data set are read: settings of `data`. The strings are borrowed. */
struct mask_options {
    bool soft;   /* masks may hold values between 0 and the full value */
    int classes; /* up to 1: foreground and background; from 2: a class per pixel */
    const char *ignore;     /* mask value to ignore, as text; NULL or "" for none */
    const char *class_file; /* path (classes.h); NULL or "": values are class numbers */
    const char *class_text; /* content of class_file, or NULL to read it */
};

/* Reduces a raw mask to one channel, in place. ERR_DATA if R, G and B differ. */
int mask_flatten(struct pixels *img, const char *name, struct err *e);

struct mask_summary {
    unsigned max;
    bool has_one, has_full; /* some pixel is 1, is the full value; false for masks of 1 bit */
    bool has_other;
    unsigned other; /* the first value that is not 0, 1 or full */
};

/* Summarizes the values of a mask. ignore: the value of pixels to skip, or -1. */
void mask_summarize(const struct pixels *mask, int ignore, struct mask_summary *summary);

/* Returns 0 if the mask's values belong to the scale, and always for soft masks. Otherwise ERR_DATA
 * with the file's name and the value. ignore: the value of pixels to skip, or -1. */
int mask_check(const struct pixels *mask, const char *name, enum mask_scale scale, int ignore,
               bool soft, struct err *e);

/* Returns the divisor that maps the mask's values to 0..1. */
unsigned mask_divisor(const struct pixels *mask, enum mask_scale scale);

/* Sets labels (height x width) to CLASSES_IGNORE where the mask has the value `ignore` (-1: none),
 * to 1 at other values above 0, and elsewhere to 0. */
void mask_label(const struct pixels *mask, int ignore, uint8_t *labels);

#endif
