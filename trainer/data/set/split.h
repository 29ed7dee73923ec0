/* SPDX-License-Identifier: BSD-3-Clause */
/* A frozen split: which pairs train, which validate, the hash of every file (doc/FORMATS.md). */
#ifndef UNETCTL_TRAINER_DATA_SET_SPLIT_H
#define UNETCTL_TRAINER_DATA_SET_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/buf.h"
#include "src/err.h"
#include "trainer/data/image/mask.h"
#include "trainer/data/source/source.h"

struct split_item {
    char *stem, *image, *mask; /* image, mask: locators (source.h) */
    int label;                 /* the image's class where mask is NULL */
    uint32_t width, height;
    char image_sha256[65], mask_sha256[65]; /* of the files' or records' bytes */
};

struct split_part {
    struct split_item *items; /* sorted by the bytes of the stem */
    size_t count;
};

struct split {
    char *dir; /* absolute path of the data folder when the split was made */
    enum source_format format;
    char **class_names; /* where images have classes */
    int nclasses;       /* 0 where they have masks */
    int64_t seed;
    double val_fraction;
    enum mask_scale mask_scale;
    struct split_part train, val;
};

struct split_config {
    const char *dir;
    int64_t seed;
    double val_fraction;   /* above 0, below 1; 1: every pair validates, none trains */
    bool soft_masks;       /* masks may hold grey values */
    const char *train_list, *val_list; /* both or none: files with one image file name per line;
                                        * seed and fraction then do not matter */
    int classes;            /* up to 1: foreground and background; from 2: classes.h */
    const char *ignore;     /* mask value that does not count, as text; NULL or "" for none */
    const char *class_file; /* classes.h; NULL or "" for none */
    const char *class_text; /* what stands in it; NULL to read it */
};

/* Scans the folder, decodes and hashes every file, checks the masks' values, divides. ERR_DATA for
 * anything wrong with the data, naming the files. */
struct split *split_create(const struct split_config *config, struct err *e);
void split_destroy(struct split *s);

/* val[i] says whether item i of n validates: a function of seed, fraction and hash alone. Items of
 * equal hash fall on the same side; both sides get at least one. ERR_DATA when that can't be. */
int split_divide(int64_t seed, double val_fraction, size_t n, const char *const *hash, bool *val,
                 struct err *e);

/* split.json */
void split_encode(const struct split *s, struct buf *dst);
struct split *split_read(const char *path, struct err *e); /* ERR_DATA: missing, damaged, unknown */

#endif
