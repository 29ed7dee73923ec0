/* SPDX-License-Identifier: BSD-3-Clause */
/* What a split is made of: every pair of a folder, decoded, hashed and checked. */
#ifndef UNETCTL_TRAINER_DATA_SET_CANDIDATES_H
#define UNETCTL_TRAINER_DATA_SET_CANDIDATES_H

#include "trainer/data/set/split.h"

enum candidate_side { CANDIDATE_NONE, CANDIDATE_TRAIN, CANDIDATE_VAL };

struct candidate {
    struct split_item item;
    char pixels[65]; /* hash of shape and samples: the same picture in two files is found too */
    struct mask_summary mask; /* of foreground and background */
    enum candidate_side side; /* on which the folder puts it */
};

/* One for each of the source's items, in their order, and moves their names here; the caller frees
 * it and the names. Several are read at a time. scale: what all masks together say. ERR_DATA: a
 * file or a mask's value is wrong; of several such pairs the first one is told. */
struct candidate *candidates_read(const struct split_config *config, struct source *source,
                                  enum mask_scale *scale, struct err *e);

#endif
