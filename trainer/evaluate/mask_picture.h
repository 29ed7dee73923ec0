/* SPDX-License-Identifier: BSD-3-Clause */
/* Predicted masks in colours: as pictures, and over their images. */
#ifndef UNETCTL_TRAINER_EVALUATE_MASK_PICTURE_H
#define UNETCTL_TRAINER_EVALUATE_MASK_PICTURE_H

#include <stdint.h>

#include "src/err.h"
#include "trainer/data/image/classes.h"
#include "trainer/data/image/scale.h"

struct mask_picture {
    int height, width;
    const uint8_t *mask; /* [height][width]: the class, or 0 and 1 */
    bool is_binary;      /* 0 is background, and 1 the foreground */
    /* Its colours are used if it has some, otherwise hues; NULL: hues. */
    const struct classes *classes;
    enum scale scale; /* of the image that it is written over (scale.h) */
};

/* Writes the mask as an RGB PNG of its colours. */
int mask_picture_write(const char *path, const struct mask_picture *m, struct err *e);

/* Writes the mask over its image, [height][width][channels] as the network sees it, with 1 or 3
 * channels, as an RGB PNG. The background of a binary mask is left clear. */
int mask_picture_write_overlay(const char *path, const struct mask_picture *m, const float *image,
                               int channels, struct err *e);

#endif
