/* SPDX-License-Identifier: BSD-3-Clause */
/* Synthetic pictures in the look of SEM images of indentation marks, with their masks: something
 * real enough to train on where no data may be copied.
 *
 * Grey metal with uneven brightness, grain and noise, a burnt-in info bar, scratches and specks as
 * distractors, one to three triangular (Berkovich) or rhombic (Knoop, Vickers) marks with facets,
 * ridges and dark-bright edges. The facets are as often darker as brighter than the ground, so that
 * no threshold finds the marks. Whole-number arithmetic throughout: the same seed gives the same
 * samples with every compiler and machine. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_SYNTH_H
#define UNETCTL_TRAINER_DATA_PREPARE_SYNTH_H

#include <stdint.h>

#include "src/err.h"

#define SYNTH_MIN_SIDE 32
#define SYNTH_MAX_SIDE 4096

/* Picture `index` of a set: image and mask (0 or 255), both [height][width]. */
int synth_draw(uint64_t seed, uint64_t index, int height, int width, uint8_t *image,
               uint8_t *mask, struct err *e);

/* count pairs as dir/images/0001.png, dir/masks/0001.png, ... Makes dir; one that holds anything is
 * refused (ERR_DATA). */
int synth_create(const char *dir, int count, int height, int width, uint64_t seed, struct err *e);

#endif
