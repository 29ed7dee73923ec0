/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws synthetic images that resemble SEM images of indentation marks, with masks, for training
 * without real data.
 *
 * An image shows grey metal with uneven brightness, grain, noise and an info bar, with scratches
 * and specks as distractors. It has one to three triangular (Berkovich) or rhombic (Knoop, Vickers)
 * marks with facets, ridges and edges. Facets are darker or brighter than the metal equally often,
 * so that a threshold cannot find the marks. All arithmetic uses integers, so that a seed gives the
 * same samples with every compiler and on every machine. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_SYNTH_H
#define UNETCTL_TRAINER_DATA_PREPARE_SYNTH_H

#include <stdint.h>

#include "src/err.h"

#define SYNTH_MIN_SIDE 32
#define SYNTH_MAX_SIDE 4096

/* Draws image `index` of the set of this seed and its mask (0 or 255), both [height][width].
 * synth_create counts from 1. -1 if memory is short. */
int synth_draw(uint64_t seed, uint64_t index, int height, int width, uint8_t *image,
               uint8_t *mask, struct err *e);

/* Writes `count` pairs to dir/images/0001.png, dir/masks/0001.png, ... ERR_DATA if dir exists and
 * is not empty. If it fails, dir is emptied, and removed if it was new. */
int synth_create(const char *dir, int count, int height, int width, uint64_t seed, struct err *e);

#endif
