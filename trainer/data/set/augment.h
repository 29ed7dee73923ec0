/* SPDX-License-Identifier: BSD-3-Clause */
/* Random changes to training pictures, image and mask alike. What happens to a picture is a pure
 * function of (seed, epoch, index): of no thread, rank or order.
 *
 * In this order: quarter turns, flips, a shift, a crop scaled back to the full size, an elastic
 * deformation; then contrast and brightness of the image alone, clipped to 0..1. Turns, flips and
 * shifts move samples exactly; what a shift brings in is the edge's. Crop and deformation read the
 * image bilinearly and the mask at the nearest pixel, beyond the edge the edge's. */
#ifndef UNETCTL_TRAINER_DATA_SET_AUGMENT_H
#define UNETCTL_TRAINER_DATA_SET_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "src/settings/settings.h"

#define AUGMENT_CELLS 4                     /* of the deformation, on each side */
#define AUGMENT_POINTS (AUGMENT_CELLS + 3)  /* control points of its cubic B-spline */

/* What was drawn for one picture. */
struct augment_draw {
    int turns; /* quarter turns, counterclockwise */
    bool hflip, vflip;
    int down, right; /* shifted by so many pixels */
    float brightness, contrast; /* added; factor */
    float zoom, top, left;      /* share of each side that is kept; where it starts, 0..1 - zoom */
    float dx[AUGMENT_POINTS][AUGMENT_POINTS], dy[AUGMENT_POINTS][AUGMENT_POINTS];
};

/* index: the picture's position in the epoch's order. */
void augment_draw(const struct settings_augment *config, bool square, uint64_t seed, size_t epoch,
                  size_t index, struct augment_draw *dst);

/* With config.six, after augment_draw: the turns and flips of this copy in place of those drawn. */
void augment_six(size_t copy, struct augment_draw *dst);

struct augment;

/* For pictures [height][width][channels] and masks [height][width] of mask_size bytes a value. Used
 * by one thread at a time; augment_apply allocates nothing. */
struct augment *augment_create(const struct settings_augment *config, int height, int width,
                               int channels, size_t mask_size, struct err *e);
void augment_destroy(struct augment *a);

/* Does the configuration change anything at all? */
bool augment_is_active(const struct settings_augment *config);

/* src and dst do not overlap. mask NULL: there is none, nothing is written to dst_mask. */
void augment_apply(struct augment *a, const struct augment_draw *draw, const float *image,
                   const void *mask, float *dst_image, void *dst_mask);

#endif
