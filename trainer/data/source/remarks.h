/* SPDX-License-Identifier: BSD-3-Clause */
/* What decoders found in the images, or the masks, of a set, said once per set: the flags of
 * pixels.h, and images that use little of their range. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_REMARKS_H
#define UNETCTL_TRAINER_DATA_SOURCE_REMARKS_H

#include "trainer/data/image/pixels.h"

enum remarks_role { REMARKS_IMAGE, REMARKS_MASK };

/* What one picture has to say. */
struct remarks_picture {
    unsigned flags;        /* enum pixels_flag */
    float lowest, highest; /* of its samples, where 1 is the largest that they could be */
    int bits;
};

/* low and high are only determined for images. */
struct remarks_picture remarks_look(const struct pixels *img, enum remarks_role role);

struct remarks {
    enum remarks_role role;
    struct remark {
        size_t count;
        char first[256]; /* name of the first file */
    } of_flag[PIXELS_NFLAGS];
    size_t pictures;
    float lowest, highest;
    int bits;
};

void remarks_add(struct remarks *r, const struct remarks_picture *p, const char *name);

/* Logs a warning for each flag that some picture has, and for images whose values all lie within a
 * tenth of the range. set: the folder. */
void remarks_log(const struct remarks *r, const char *set);

/* Returns what a flag means. */
const char *remarks_text(enum remarks_role role, enum pixels_flag flag);

#endif
