/* SPDX-License-Identifier: BSD-3-Clause */
/* What the values of a mask mean where there are two: foreground and background. Masks of several
 * classes: classes.h.
 *
 * A mask is one channel of raw values: grey as it is, palette by index, RGB when R = G = B
 * everywhere; alpha is dropped. The masks of a set hold 0 and 1 (unit), or 0 and the full value of
 * their sample (255; 65535 in 16 bits). A 1-bit mask is both. Soft masks may hold what lies
 * between. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_MASK_H
#define UNETCTL_TRAINER_DATA_IMAGE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "trainer/data/image/pixels.h"

/* Of a whole set; as split.json has it. MASK_CLASS: values stand for classes. */
enum mask_scale { MASK_CLASS = 0, MASK_UNIT = 1, MASK_FULL = 255 };

/* Makes one channel of a mask that was decoded raw. A coloured one is ERR_DATA. */
int mask_flatten(struct pixels *img, const char *name, struct err *e);

/* The value in data.ignore: -1 for NULL and "". ERR_CONFIG when text is no number up to 65535. */
int mask_ignore_decode(const char *text, int *ignore, struct err *e);

struct mask_summary {
    unsigned max;
    bool has_one, has_full; /* value 1; value full. Neither is set by a 1-bit mask. */
    bool has_other;
    unsigned other; /* the first value that is not 0, 1 or full */
};

/* ignore: a value that does not count at all, -1 for none. */
void mask_summarize(const struct pixels *mask, int ignore, struct mask_summary *summary);

/* ERR_DATA, naming file and value, when a mask that is not soft holds what its scale has not. */
int mask_check(const struct pixels *mask, const char *name, enum mask_scale scale, int ignore,
               bool soft, struct err *e);

/* What a value is divided by to become 0..1. */
unsigned mask_divisor(const struct pixels *mask, enum mask_scale scale);

/* 0 or 1 for each pixel, CLASSES_IGNORE for the value `ignore`. */
void mask_label(const struct pixels *mask, int ignore, uint8_t *labels);

#endif
