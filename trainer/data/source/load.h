/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an image or mask of a data folder; hash and pixels come from the same read of the file. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_LOAD_H
#define UNETCTL_TRAINER_DATA_SOURCE_LOAD_H

#include <stdbool.h>

#include "trainer/data/image/pixels.h"

/* Decodes dir/name into img, whose samples the caller frees with pixels_free. sha256: set to the
 * SHA-256 of the file in hex, unless NULL. want: the hash recorded in split.json, or NULL to accept
 * any; another hash is ERR_DATA. A file of several pages is ERR_DATA. */
int load_image(const char *dir, const char *name, const char *want, char sha256[65],
               struct pixels *img, struct err *e);
/* As load_image. coloured: the colours of the mask stand for classes, and it is decoded as a
 * picture; otherwise it is reduced to one channel of values. */
int load_mask(const char *dir, const char *name, bool coloured, const char *want, char sha256[65],
              struct pixels *img, struct err *e);

#endif
