/* SPDX-License-Identifier: BSD-3-Clause */
/* One image or mask of a data folder: read once, hashed and decoded from the same bytes. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_LOAD_H
#define UNETCTL_TRAINER_DATA_SOURCE_LOAD_H

#include <stdbool.h>

#include "trainer/data/image/pixels.h"

/* dir/name. sha256 gets the hash of the file's bytes as 64 hex digits; NULL when not wanted. want:
 * the hash that a split has recorded, NULL if none; another one is ERR_DATA, nothing is decoded. A
 * file of several pages is refused: which one is meant? */
int load_image(const char *dir, const char *name, const char *want, char sha256[65],
               struct pixels *img, struct err *e);
/* coloured: as a picture, because its colours stand for classes; else one channel of values. */
int load_mask(const char *dir, const char *name, bool coloured, const char *want, char sha256[65],
              struct pixels *img, struct err *e);

#endif
