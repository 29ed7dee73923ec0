/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs the images and masks of two folders by name. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_PAIRS_H
#define UNETCTL_TRAINER_DATA_SOURCE_PAIRS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/data/source/source.h"

/* A folder of images and its folder of masks, relative to the data folder; "." is that folder
 * itself. */
struct pairs_part {
    char images[NAME_MAX * 2], masks[NAME_MAX * 2];
    enum source_side side;
};

struct pair {
    char *stem;         /* what the two names share, without suffixes */
    char *image, *mask; /* relative to dir: "images/0001.png" */
};

struct pairs {
    struct pair *items; /* sorted by the bytes of the stem */
    size_t count;
    size_t unpaired; /* images without a mask, which a partial set may have */
    size_t nseveral; /* images left out because they have several masks, and one of them */
    char several_name[256];
    size_t nothers;     /* entries that are not images, if images and masks have two folders */
    char other_name[256]; /* the name of one of them */
};

/* Pairs the image files (png tif tiff jpg jpeg bmp, not hidden) of two folders below dir. partial:
 * images without a mask are skipped and counted. ERR_DATA: a folder is missing or has no images, an
 * image has no mask (unless partial) or a mask no image, two files have the same stem. The caller
 * frees pairs, also after an error. */
int pairs_scan(const char *dir, const struct pairs_part *part, bool partial, struct pairs *pairs,
               struct err *e);
void pairs_free(struct pairs *pairs);

/* Returns whether masks lie beside their images in dir/sub: marked by a suffix, or as x.png beside
 * x.jpg. */
bool pairs_are_in(const char *dir, const char *sub);

/* Returns whether the files in dir/others would be the masks of most images in dir/images. */
bool pairs_match(const char *dir, const char *images, const char *others);

#endif
