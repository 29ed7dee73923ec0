/* SPDX-License-Identifier: BSD-3-Clause */
/* A fixed split: the pairs for training and for validation, with the hash of every file
 * (doc/FORMATS.md). */
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
    double val_fraction;   /* above 0, below 1; 1: all pairs are for validation */
    bool soft_masks;       /* masks may hold grey values */
    const char *train_list, *val_list; /* both or none: files with one image file name per line,
                                        * which replace seed and fraction */
    int classes;            /* up to 1: foreground and background; from 2: classes.h */
    const char *ignore;     /* mask value to ignore, as text; NULL or "" for none */
    const char *class_file; /* classes.h; NULL or "" for none */
    const char *class_text; /* its content; NULL: read it */
};

/* Reads the folder, decodes and hashes every file, checks the values of the masks, and divides the
 * pairs. ERR_DATA: something is wrong with the data; the message names the files. */
struct split *split_create(const struct split_config *config, struct err *e);
void split_destroy(struct split *s);

/* Sets val[i] if item i of n is for validation: a function of seed, fraction and hashes alone.
 * Items with equal hashes are on the same side, and both sides get at least one. ERR_DATA: not
 * possible. */
int split_divide(int64_t seed, double val_fraction, size_t n, const char *const *hash, bool *val,
                 struct err *e);

/* Gives each worker the same number of TFRecord files: keeps only the training images of the first
 * files by number, so many that workers divide them (of 10 files for 4 workers, 8). ERR_DATA: fewer
 * files than workers; ERR_CONFIG: the split has another format. */
int split_keep_files(struct split *s, int workers, struct err *e);

/* split.json */
void split_encode(const struct split *s, struct buf *dst);
struct split *split_read(const char *path, struct err *e); /* ERR_DATA: missing, damaged, unknown */

#endif
