/* SPDX-License-Identifier: BSD-3-Clause */
/* Probabilities of an image of any size from a network of one size: from the resized image, or at
 * the image's own scale from overlapping tiles.
 *
 * Tiles lie inside the image, the last one of a row or column moved back to end with it; an image
 * smaller than a tile is centred in zeros, as in training. Where tiles overlap they are weighted by
 * the distance to their edge, so that no seam is visible. */
#ifndef UNETCTL_TRAINER_EVALUATE_PREDICT_H
#define UNETCTL_TRAINER_EVALUATE_PREDICT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "trainer/network/network.h"

/* interrupt: as in struct comm. progress, called after each tile, may be NULL. */
struct predict_watch {
    const atomic_int *interrupt;
    void (*progress)(void *arg, size_t done, size_t total);
    void *arg;
};

/* image [height][width][channels], 0..1. overlap: pixels that neighbouring tiles share at least.
 * Returns [height][width][classes] (malloc; with one class that of the foreground), NULL on
 * failure. watch may be NULL. */
float *predict_tiled(struct network *n, const struct network_config *config, const float *image,
                     int height, int width, int overlap, const struct predict_watch *watch,
                     struct err *e);

/* The same from the image resized to the network's size with its aspect kept, padded with zeros,
 * and the result resized back, as training and evaluation do. */
float *predict_resized(struct network *n, const struct network_config *config, const float *image,
                       int height, int width, struct err *e);

/* Sets an overlap below 0, "not given", to a quarter of the tile's smaller side. ERR_USAGE for more
 * than three quarters of it, for an overlap without native, and for native with a network that
 * classifies whole images. */
int predict_check_overlap(const struct network_config *config, bool native, long *overlap,
                          struct err *e);

/* Sigmoid of one logit, softmax of several: p[classes]. */
void predict_probabilities(const float *logits, int classes, float *p);

/* The number of tiles of a side, and where tile i begins. */
int predict_tile_count(int side, int tile, int overlap);
int predict_tile_begin(int side, int tile, int overlap, int i);

#endif
