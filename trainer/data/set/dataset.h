/* SPDX-License-Identifier: BSD-3-Clause */
/* Data sets for training: a split of a source, its decoded samples, and batches in the order of an
 * epoch.
 *
 * run/ and cmd/ make or read the split and open a dataset for each side; run/session.c starts a
 * loader, from which step/ takes batches; evaluate/ reads samples one by one. A sample is decoded
 * once to a record (core/kernel.h), resized and padded or at its own size, and kept in memory or in
 * the cache. What a rank loads depends only on the seed, the epoch and its part, so that the images
 * of a step are the same for every number of ranks.
 *
 * To read: this file, split.c and candidates.c (which samples there are), dataset.c and cache.c
 * (decoding and keeping), loader.h, sampler.c (images or patches), loader.c (the order and the
 * threads) and augment.c. */
#pragma once

#include "src/base.h"
#include "trainer/core/kernel.h"
#include "trainer/data/image/classes.h"
#include "trainer/data/source/source.h"

/* A fixed split: the pairs (an image and its mask, or an image with a class) for training and for
 * validation, with the hash of each of their files or records (doc/SCHEMAS.md). Functions return
 * NULL or -1 on error, with ERR_DATA if the data is wrong. */

struct split_item {
    char *stem, *image, *mask; /* image and mask are locators (source.h) */
    int label;                 /* the class of the image if mask is NULL */
    uint32_t width, height;    /* after the turn */
    char image_sha256[65], mask_sha256[65]; /* of the bytes of the file or record */
    int orientation, mask_orientation; /* by which the files are turned (pixels.h); 0: none */
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
    int folds, fold;    /* those of split_config; 0: none */
    char *group;        /* that of split_config, or NULL */
    enum mask_scale mask_scale;
    struct picture_levels levels; /* of its images */
    struct split_part train, val;
};

struct split_config {
    const char *dir;
    const struct source_folders *folders; /* NULL: found by their names */
    int64_t seed;
    double val_fraction;   /* above 0 and below 1, or 1: all pairs are for validation */
    int folds, fold;       /* instead: pairs are in so many parts, of which 1..folds validates */
    /* Both or neither: files with one image file name per line, used in place of seed, fraction and
     * the folders' division. */
    const char *train_list, *val_list;
    /* Images of one group are on the same side. A pattern (an extended regular expression) over the
     * stems, whose one part in parentheses is the group; or FILE:COLUMN, a column of a list with
     * commas, semicolons or tabs, whose first column (or second, if COLUMN is the first) has the
     * names of the images, as source_assign reads them. NULL or "": none. */
    const char *group;
    struct mask_options masks;
};

/* Reads the folder, decodes and hashes every file, checks the values of the masks, and divides the
 * pairs. ERR_DATA names the first file that is wrong. The caller destroys the result. */
struct split *split_create(const struct split_config *config, struct err *e);
void split_destroy(struct split *s);

/* Sets val[i] to whether item i of n is for validation, a function of the arguments alone, of which
 * the configuration's seed, fraction and folds count. Items with equal hashes are on the same side,
 * and each side gets at least one. label: the classes of the items, each of which is divided by
 * itself, or NULL; a class of only one hash is for training. Of items with equal hashes the first
 * one's class counts. Folds have nearly equal numbers of items, in all and of each class. ERR_DATA
 * if there are fewer than two hashes, or fewer than folds. */
int split_divide(const struct split_config *config, size_t n, const char *const *hash,
                 const int *label, bool *val, struct err *e);

/* Leaves out the validation images that the split of a run, in a file, has for training, by the
 * hashes of their files, and sets *n to their number. ERR_DATA if none remains. */
int split_leave_out(struct split *s, const char *run_split, size_t *n, struct err *e);

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

/* The samples of a split, image and mask or class, decoded once at the size of the network.
 *
 * A data set owns its decoded samples; dataset_close frees them. Functions with an error argument
 * return NULL or -1, with ERR_DATA for files that are missing, damaged or different from the
 * split's. */

enum dataset_part { DATASET_TRAIN, DATASET_VAL };

struct dataset_config {
    /* Path of split.json, whose files are relative to its "data", or NULL: all pairs of dir are
     * used for validation. */
    const char *split_file;
    const char *dir;        /* data folder instead of the split's "data", or NULL */
    const struct source_folders *folders; /* without a split file; NULL: found by their names */
    /* Without a split file: NULL, or a run's, whose training images are left out (split_leave_out).
     * *left_out is set to their number. */
    const char *run_split;
    size_t *left_out;
    /* Images are resized with their aspect ratio kept, and padded with zeros; with native, which
     * needs masks, they keep their size, and no side of one is shorter. */
    int height, width;
    bool native;
    /* 1 for grey, 3 for RGB, or the number that the images have (image_file.h). */
    int channels;
    enum scale scale; /* of the images' samples */
    const struct picture_levels *levels; /* those of a training, or NULL: the split's */
    /* Masks of classes, or with a value to ignore, are resized by taking the nearest pixel and
     * padded with RECORD_IGNORE; others as images. */
    struct mask_options masks;
    /* Where decoded samples are kept. NULL or "off": in memory, decoded when needed. A folder: in a
     * file there (set_internal.h), created at once. "auto": in memory up to 256 MiB for all
     * `sharers` or without a split file, otherwise in the folder cache/ next to the split file. */
    const char *cache;
    int workers;            /* those that share TFRecord files (split_keep_files); 0: use all */
    int sharers;            /* processes of this machine that use the same data set; 0 means 1 */
    int threads;            /* threads that fill the cache file; 0 means 1 */
    const atomic_int *interrupt; /* nonzero cancels filling it; may be NULL */
};

struct dataset;

/* Calls dataset_open_split and dataset_load. */
struct dataset *dataset_open(const struct dataset_config *config, struct err *e);

/* Reads the split file; without one, decodes and hashes the files of dir. The strings of config
 * must live until dataset_load has returned. */
struct dataset *dataset_open_split(const struct dataset_config *config, struct err *e);

/* Checks that each file exists with its recorded width and height, and each record exists, unless a
 * cache file has all samples. Opens or creates the cache file, or without one checks that memory,
 * which `sharers` processes of the machine share, suffices for the samples. Called once. */
int dataset_load(struct dataset *ds, int sharers, struct err *e);
void dataset_close(struct dataset *ds);

size_t dataset_count(const struct dataset *ds, enum dataset_part part);
/* Returns the unique name of sample i, which is its "stem" in split.json: "0001", "train/0001",
 * "cat/0001.png" or "FILE#0000012". */
const char *dataset_name(const struct dataset *ds, enum dataset_part part, size_t i);

/* Sets the height and width of what a network reads, and returns the channels. */
int dataset_size(const struct dataset *ds, int *height, int *width);

bool dataset_is_native(const struct dataset *ds); /* config.native */

/* Returns the size of the record of sample i: that of the network, or with config.native the
 * image's own. */
struct dataset_sides {
    int height, width;
};
struct dataset_sides dataset_sides(const struct dataset *ds, enum dataset_part part, size_t i);

/* Returns whether samples have masks; otherwise each image has one class (class folders, CIFAR-10,
 * idx). */
bool dataset_has_masks(const struct dataset *ds);

/* Returns the number of values of a target: height * width for masks, otherwise 1. */
size_t dataset_targets(const struct dataset *ds);

/* Returns a hash of the names and sides of all samples, and of the bytes of their files. */
uint64_t dataset_hash(const struct dataset *ds);

/* Number of classes, 1 for foreground and background. Their names come from the data set if images
 * have classes, or else from the class file; without one they are numbers, and "foreground" for 1
 * class. */
int dataset_classes(const struct dataset *ds);
const char *dataset_class_name(const struct dataset *ds, int i);

/* Of images with classes: if each class has one of these names, those of a training, numbers the
 * classes as these are; ERR_DATA if only some have. Called before samples are read. */
int dataset_number_classes(struct dataset *ds, char *const *names, int count, struct err *e);

/* Returns what SCALE_AUTO maps to 0 and 1, and the bits of the images. */
const struct picture_levels *dataset_levels(const struct dataset *ds);

/* Returns the content of the class file, or "" without one. */
const char *dataset_class_file(const struct dataset *ds);

/* Returns the record of sample i, of as many numbers as dataset_sides says, valid until
 * dataset_close. Without a cache file, the first call for a sample decodes its files and
 * checks their hashes. Thread-safe. */
const struct record *dataset_record(struct dataset *ds, enum dataset_part part, size_t i,
                                    struct err *e);

/* Says that a large record from a cache file is not needed soon; it remains valid. */
void dataset_release(const struct dataset *ds, enum dataset_part part, size_t i);

/* Copies sample i to image [height][width][channels], 0..1 (data/image/pixels.h), and its target,
 * a mask [height][width] or a class: 0..1, or the class number if there are several; ignored pixels
 * are -1. Otherwise as dataset_record. */
int dataset_get(struct dataset *ds, enum dataset_part part, size_t i, float *image, float *mask,
                struct err *e);

/* Appends the record of sample i at the size of its files to dst, decoded anew in each call. */
int dataset_decode_native(const struct dataset *ds, enum dataset_part part, size_t i,
                          struct buf *dst, struct dataset_sides *sides, struct err *e);
