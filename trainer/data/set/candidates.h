/* SPDX-License-Identifier: BSD-3-Clause */
/* The pairs of a data set, decoded, hashed and checked, before they are divided. */
#ifndef UNETCTL_TRAINER_DATA_SET_CANDIDATES_H
#define UNETCTL_TRAINER_DATA_SET_CANDIDATES_H

#include "trainer/data/set/split.h"

struct candidate {
    struct split_item item;
    char pixels[65]; /* hash of shape and samples, equal for the same image in two files */
    struct mask_summary mask; /* of foreground and background */
    enum source_side side;    /* first by the folder, then by the split; SOURCE_ANY: not used */
};

/* An array with one candidate per item of the source, in the same order; takes the names from the
 * items. The caller frees the array and the names. Sets the scale of the masks. ERR_DATA: a file or
 * a value of a mask is wrong; reported for the first such pair. */
struct candidate *candidates_read(const struct split_config *config, struct source *source,
                                  enum mask_scale *scale, struct err *e);

#endif
