/* SPDX-License-Identifier: BSD-3-Clause */
/* Masks of two values, foreground and background. Masks of several classes: classes.h.
 *
 * A mask is one channel of raw values: grey as it is, palette by index, RGB when R = G = B
 * everywhere; alpha is dropped. The masks of a set hold 0 and 1 (unit), or 0 and the full value of
 * their sample (255; 65535 in 16 bits). A 1-bit mask is both. Soft masks may hold values
 * between. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_MASK_H
#define UNETCTL_TRAINER_DATA_IMAGE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "trainer/data/image/pixels.h"

/* Of a data set; values as in split.json. MASK_CLASS: values are classes. */
enum mask_scale { MASK_CLASS = 0, MASK_UNIT = 1, MASK_FULL = 255 };

/* Reduces a raw mask to one channel. ERR_DATA for a coloured one. */
int mask_flatten(struct pixels *img, const char *name, struct err *e);

/* Decodes data.ignore: -1 for NULL and "". ERR_CONFIG unless text is a number up to 65535. */
int mask_ignore_decode(const char *text, int *ignore, struct err *e);

struct mask_summary {
    unsigned max;
    bool has_one, has_full; /* value 1; value full. Neither is set by a 1-bit mask. */
    bool has_other;
    unsigned other; /* the first value that is not 0, 1 or full */
};

/* ignore: the value of ignored pixels, or -1. */
void mask_summarize(const struct pixels *mask, int ignore, struct mask_summary *summary);

/* ERR_DATA, naming file and value, when a mask that is not soft holds other values than its
 * scale. */
int mask_check(const struct pixels *mask, const char *name, enum mask_scale scale, int ignore,
               bool soft, struct err *e);

/* The divisor that maps values to 0..1. */
unsigned mask_divisor(const struct pixels *mask, enum mask_scale scale);

/* 0 or 1 for each pixel, CLASSES_IGNORE for the value `ignore`. */
void mask_label(const struct pixels *mask, int ignore, uint8_t *labels);

#endif
