/* SPDX-License-Identifier: BSD-3-Clause */
/* What the values of a mask mean.
 *
 * A mask is one channel of raw values: grey as it is, palette by index, RGB when R = G = B
 * everywhere; alpha is dropped. The masks of a set hold 0 and 1 (unit), or 0 and the full value of
 * their sample (255; 65535 in 16 bits). A 1-bit mask is both. Soft masks may hold what lies
 * between. */
#ifndef UNETCTL_TRAINER_DATA_MASK_H
#define UNETCTL_TRAINER_DATA_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "trainer/data/png_file.h"

enum mask_scale { MASK_UNIT = 1, MASK_FULL = 255 }; /* of a whole set; as split.json has it */

/* Decodes a PNG as a mask: img has one channel afterwards. A coloured one is ERR_DATA. */
int mask_decode(const uint8_t *bytes, size_t nbytes, const char *name, struct png_pixels *img,
                struct err *e);

struct mask_summary {
    unsigned max;
    bool has_one, has_full; /* value 1; value full. Neither is set by a 1-bit mask. */
    bool has_other;
    unsigned other; /* the first value that is not 0, 1 or full */
};

void mask_summarize(const struct png_pixels *mask, struct mask_summary *summary);

/* ERR_DATA, naming file and value, when a mask that is not soft holds what its scale has not. */
int mask_check(const struct png_pixels *mask, const char *name, enum mask_scale scale, bool soft,
               struct err *e);

/* What a value is divided by to become 0..1. */
unsigned mask_divisor(const struct png_pixels *mask, enum mask_scale scale);

#endif
