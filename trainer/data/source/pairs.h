/* SPDX-License-Identifier: BSD-3-Clause */
/* The images and masks of two folders, paired by name. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_PAIRS_H
#define UNETCTL_TRAINER_DATA_SOURCE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/data/source/layout.h"

struct pair {
    char *stem;         /* what the two names share, without suffixes (layout.h) */
    char *image, *mask; /* relative to dir: "images/0001.png" */
};

struct pairs {
    struct pair *items; /* sorted by the bytes of the stem */
    size_t count;
    size_t alone; /* images without a mask, where that is usual (partial) */
    size_t strange;     /* other entries of the folders */
    char stranger[256]; /* one of them */
};

/* Pairs the files of two folders below dir that have a suffix of images (png tif tiff jpg jpeg bmp)
 * and do not start with a dot. partial: images without a mask are skipped and counted. ERR_DATA: no
 * such folder, no images, an image without a mask or the other way round, two files of one stem. */
int pairs_scan(const char *dir, const struct layout_part *part, bool partial, struct pairs *pairs,
               struct err *e);
void pairs_free(struct pairs *pairs);

#endif
