/* SPDX-License-Identifier: BSD-3-Clause */
/* Probabilities of an image of any size from a network of one size: overlapping tiles, blended.
 *
 * Tiles lie inside the image, the last of a row or column moved back so that it ends with it; an
 * image smaller than a tile is centred in zeros, as in training. Where tiles overlap, each counts
 * by the distance to its edge, so that no seam is seen. */
#ifndef UNETCTL_TRAINER_STEP_TILES_H
#define UNETCTL_TRAINER_STEP_TILES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "trainer/core/network.h"

/* interrupt: as in struct comm. progress, called after each tile, may be NULL. */
struct tiles_watch {
    const atomic_int *interrupt;
    void (*progress)(void *arg, size_t done, size_t total);
    void *arg;
};

/* image [height][width][channels], 0..1. overlap: pixels that neighbouring tiles share at least.
 * Returns [height][width][classes] (malloc; one class: of the foreground), NULL on failure.
 * watch: NULL for none. */
float *tiles_predict(struct network *n, const struct network_config *config, const float *image,
                     int height, int width, int overlap, const struct tiles_watch *watch,
                     struct err *e);

/* Sets an overlap below 0, "not given", to a quarter of the tile's smaller side. ERR_USAGE for more
 * than three quarters of it (each pixel then is under more than 16 tiles), for an overlap without
 * native, and for native with a network of whole images. */
int tiles_check_option(const struct network_config *config, bool native, long *overlap,
                       struct err *e);

/* Sigmoid of one logit, softmax of several: p[classes]. */
void tiles_probabilities(const float *logits, int classes, float *p);

/* Of how many tiles of that size a side consists, and where tile i begins. */
int tiles_count(int side, int tile, int overlap);
int tiles_begin(int side, int tile, int overlap, int i);

#endif
