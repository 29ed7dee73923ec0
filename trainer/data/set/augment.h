/* SPDX-License-Identifier: BSD-3-Clause */
/* Random changes to training images and their masks. The changes to an image are a pure function of
 * (seed, epoch, index), and with augment.six of the copy, and do not depend on threads or ranks.
 *
 * They are applied in this order: quarter turns, flips, a shift, a crop scaled to the full size, an
 * elastic deformation; then contrast and brightness of the image only, clipped to 0..1. Turns,
 * flips and shifts move pixels exactly. Crop and deformation interpolate the image bilinearly and
 * take the nearest pixel of the mask. Pixels outside the image repeat its edge. Bytes of an image
 * become floats where its values change. */
#ifndef UNETCTL_TRAINER_DATA_SET_AUGMENT_H
#define UNETCTL_TRAINER_DATA_SET_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "src/settings/settings.h"
#include "trainer/core/kernel.h"

#define AUGMENT_CELLS 4                     /* cells of the deformation per side */
#define AUGMENT_POINTS (AUGMENT_CELLS + 3)  /* control points of its cubic B-spline */

/* The random changes to one image. */
struct augment_draw {
    int turns; /* quarter turns counterclockwise */
    bool hflip, vflip;
    int down, right; /* shift in pixels */
    float brightness, contrast; /* an offset; a factor around the mean of the channel */
    float zoom, top, left; /* share of each side that the crop keeps; its start, 0..1 - zoom */
    /* Shifts of the control points in pixels. */
    float dx[AUGMENT_POINTS][AUGMENT_POINTS], dy[AUGMENT_POINTS][AUGMENT_POINTS];
};

/* Draws the changes to one image. square: the image has equal sides, so that turns by 90 degrees
 * are possible. index: the position of the image in the order of the epoch. */
void augment_draw(const struct settings_augment *config, bool square, uint64_t seed, size_t epoch,
                  size_t index, struct augment_draw *dst);

/* For config->six: replaces turns and flips by those of the given copy of the image (modulo 6):
 * none, vflip, hflip, or 1 to 3 turns. */
void augment_six(size_t copy, struct augment_draw *dst);

struct augment;

/* Prepares for records with images [height][width][channels] and, if has_masks, masks
 * [height][width]; otherwise a target is a single class, which is copied. Used by one thread at a
 * time. augment_apply does not allocate. The caller destroys the result. */
struct augment *augment_create(const struct settings_augment *config, int height, int width,
                               int channels, bool has_masks, struct err *e);
void augment_destroy(struct augment *a);

/* Returns whether the configuration changes anything. */
bool augment_is_active(const struct settings_augment *config);

/* Applies the changes. dst has room for a record of floats and does not overlap src. */
void augment_apply(struct augment *a, const struct augment_draw *draw, const struct record *src,
                   struct record *dst);

#endif
