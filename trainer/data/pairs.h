/* SPDX-License-Identifier: BSD-3-Clause */
/* Which mask belongs to which image: DIR/images, DIR/masks, paired by stem, never by position. */
#ifndef UNETCTL_TRAINER_DATA_PAIRS_H
#define UNETCTL_TRAINER_DATA_PAIRS_H

#include <stddef.h>

#include "src/err.h"

struct pair {
    char *stem;         /* file name without its suffix */
    char *image, *mask; /* relative to the folder: "images/0001.png" */
};

struct pairs {
    struct pair *items; /* sorted by the bytes of the stem */
    size_t count;
};

/* Lists dir. Files whose names end like images' (png tif tiff jpg jpeg bmp) take part; names that
 * start with a dot and everything else do not. ERR_DATA: no such folder, no images, an image
 * without a mask or the other way round, two files of one stem. */
int pairs_scan(const char *dir, struct pairs *pairs, struct err *e);
void pairs_free(struct pairs *pairs);

/* dir "/" name, malloc'ed, or NULL. */
char *pairs_path(const char *dir, const char *name);

#endif
