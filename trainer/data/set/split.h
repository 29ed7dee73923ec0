/* SPDX-License-Identifier: BSD-3-Clause */
/* A fixed split: the pairs (an image and its mask, or an image with a class) for training and for
 * validation, with the hash of each of their files or records (doc/SCHEMAS.md). Functions return
 * NULL or -1 on error, with ERR_DATA if the data is wrong. */
#ifndef UNETCTL_TRAINER_DATA_SET_SPLIT_H
#define UNETCTL_TRAINER_DATA_SET_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/data/image/mask.h"
#include "trainer/data/source/source.h"

struct split_item {
    char *stem, *image, *mask; /* image and mask are locators (source.h) */
    int label;                 /* the class of the image if mask is NULL */
    uint32_t width, height;    /* after the turn */
    char image_sha256[65], mask_sha256[65]; /* of the bytes of the file or record */
    int orientation, mask_orientation; /* by which the files are turned (orientation.h); 0: none */
};

struct split_part {
    struct split_item *items; /* sorted by the bytes of the stem, or as in the file read */
    size_t count;
};

struct split {
    char *dir; /* absolute path of the data folder when the split was made */
    enum source_format format;
    char **class_names; /* if images have classes */
    int nclasses;       /* 0 if they have masks */
    int64_t seed;
    double val_fraction;
    enum mask_scale mask_scale;
    struct split_part train, val;
};

struct split_config {
    const char *dir;
    const struct source_folders *folders; /* NULL: found by their names */
    int64_t seed;
    double val_fraction;   /* above 0 and below 1, or 1: all pairs are for validation */
    /* Both or neither: files with one image file name per line, used in place of seed, fraction and
     * the folders' division. */
    const char *train_list, *val_list;
    struct mask_options masks;
};

/* Reads the folder, decodes and hashes every file, checks the values of the masks, and divides the
 * pairs. ERR_DATA names the first file that is wrong. The caller destroys the result. */
struct split *split_create(const struct split_config *config, struct err *e);
void split_destroy(struct split *s);

/* Sets val[i] to whether item i of n is for validation, a function of seed, fraction and hashes
 * alone. Items with equal hashes are on the same side, and each side gets at least one. ERR_DATA if
 * that is impossible. */
int split_divide(int64_t seed, double val_fraction, size_t n, const char *const *hash, bool *val,
                 struct err *e);

/* Lets each worker have the same number of TFRecord files: of the training images keeps only those
 * in the first files by number, as many files as the largest multiple of `workers` (of 10 files for
 * 4 workers, 8). ERR_DATA if there are fewer files than workers; ERR_CONFIG if the split has
 * another format. */
int split_keep_files(struct split *s, int workers, struct err *e);

/* Returns the content of split.json, to be freed by the caller. */
char *split_encode(const struct split *s, struct err *e);
/* Writes split.json atomically, replacing an existing file. */
int split_write(const struct split *s, const char *path, struct err *e);
/* ERR_DATA: missing, damaged or of an unknown schema. */
struct split *split_read(const char *path, struct err *e);

#endif
