/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes, hashes and checks the pairs of a data set (an image and its mask, or an image with a
 * class) before split.c divides them. */
#ifndef UNETCTL_TRAINER_DATA_SET_CANDIDATES_H
#define UNETCTL_TRAINER_DATA_SET_CANDIDATES_H

#include "trainer/data/set/split.h"
#include "trainer/data/source/remarks.h"

struct candidate {
    struct split_item item;
    char pixels[65]; /* hash of shape and samples: equal for the same image in two files */
    struct remarks_picture about_image, about_mask;
    struct mask_summary mask; /* of masks of foreground and background */
    bool is_bad;              /* examining it has failed */
    enum source_side side;    /* first by the folder, later by the split; SOURCE_ANY: neither */
};

/* Returns one candidate per item of the source, in the same order, and sets the scale of the masks.
 * The candidates take the names from the items; the caller frees names and array. Logs what
 * decoders remarked (remarks.h). Returns NULL on error, with ERR_DATA for the first pair whose
 * name, file, size or mask value is wrong, or if the masks have no common scale. */
struct candidate *candidates_read(const struct split_config *config, struct source *source,
                                  enum mask_scale *scale, struct err *e);

#endif
