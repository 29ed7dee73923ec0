/* SPDX-License-Identifier: BSD-3-Clause */
/* Predicts the probabilities of an image of any size with a network of fixed size: from the resized
 * image, or at the image's own scale from overlapping tiles. The caller frees the results.
 *
 * Tiles lie inside the image; the last one of a row or column is moved back to end with it. An
 * image smaller than a tile is centred in zeros, as in training. Overlapping tiles are weighted by
 * the distance to their edge, so that no seam is visible. */
#ifndef UNETCTL_TRAINER_EVALUATE_PREDICT_H
#define UNETCTL_TRAINER_EVALUATE_PREDICT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "trainer/network/network.h"

/* *interrupt: not 0, the number of a signal, ends the prediction with an error; the pointer may be
 * NULL. progress: called after each tile; may be NULL. */
struct predict_watch {
    const atomic_int *interrupt;
    void (*progress)(void *arg, size_t done, size_t total);
    void *arg;
};

/* image: [height][width][channels], 0..1. overlap: the least number of pixels that neighbouring
 * tiles share. watch: may be NULL. Returns [height][width][classes], which the caller frees (with
 * one class, the probability of foreground), or NULL on error. */
float *predict_tiled(struct network *n, const struct network_config *config, const float *image,
                     int height, int width, int overlap, const struct predict_watch *watch,
                     struct err *e);

/* As predict_tiled, from the image resized to the network's size with its aspect kept and padded
 * with zeros, as in training. The result is resized back. */
float *predict_resized(struct network *n, const struct network_config *config, const float *image,
                       int height, int width, struct err *e);

/* Sets an overlap below 0, which means "not given", to a quarter of the tile's smaller side.
 * ERR_USAGE for more than three quarters of it, for an overlap without native, and for native with
 * a network that classifies whole images. */
int predict_check_overlap(const struct network_config *config, bool native, long *overlap,
                          struct err *e);

/* Sets p[classes] to the sigmoid of one logit, or the softmax of several. */
void predict_probabilities(const float *logits, int classes, float *p);

/* Returns the class of the largest logit or probability. */
int predict_largest(const float *v, int classes);

/* Return the number of tiles along a side of the image, and where tile i begins. If the side is
 * shorter than the tile, the image is centred in the only tile, which begins at (side - tile) / 2,
 * rounded towards 0. */
int predict_tile_count(int side, int tile, int overlap);
int predict_tile_begin(int side, int tile, int overlap, int i);

#endif
