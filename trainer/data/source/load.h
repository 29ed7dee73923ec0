/* SPDX-License-Identifier: BSD-3-Clause */
/* An image or mask of a data folder, hashed and decoded from the same bytes. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_LOAD_H
#define UNETCTL_TRAINER_DATA_SOURCE_LOAD_H

#include <stdbool.h>

#include "trainer/data/image/pixels.h"

/* Decodes dir/name. sha256: the hash of the file's bytes as 64 hex digits, or NULL. want: the hash
 * in a split, or NULL; ERR_DATA if the file has another one. A file of several pages is refused. */
int load_image(const char *dir, const char *name, const char *want, char sha256[65],
               struct pixels *img, struct err *e);
/* coloured: decode a picture, whose colours stand for classes; else one channel of values. */
int load_mask(const char *dir, const char *name, bool coloured, const char *want, char sha256[65],
              struct pixels *img, struct err *e);

#endif
