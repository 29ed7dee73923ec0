/* SPDX-License-Identifier: BSD-3-Clause */
/* The pairs of image and mask (or class) of a split, decoded once, at the size of the network. */
#ifndef UNETCTL_TRAINER_DATA_SET_DATASET_H
#define UNETCTL_TRAINER_DATA_SET_DATASET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

enum dataset_part { DATASET_TRAIN, DATASET_VAL };

#define DATASET_IGNORE 255 /* the label of a pixel that losses and metrics ignore */

struct dataset_config {
    const char *split_file; /* split.json; its paths are relative to its "data". NULL: all pairs of
                             * dir are for validation. */
    const char *dir;        /* NULL: the split file's "data" */
    int height, width;      /* images are resized with their aspect ratio, and padded with zeros */
    int channels;           /* 1: grey; 3: RGB; else the number that the images have: picture.h */
    bool soft_masks;        /* false: a mask contains {0,1} or {0,255}, else it is an error */
    int classes;            /* up to 1: foreground and background. From 2: a class per pixel; masks
                             * are resized to the nearest pixel, and padded with
                             * DATASET_IGNORE. */
    const char *ignore;     /* mask value to ignore, as text; NULL or "" for none */
    const char *class_file; /* classes.h; NULL or "": values are classes */
    const char *class_text; /* its content; NULL: read it */
    const char *cache; /* where decoded samples are kept. NULL or "off": in memory, decoded when
                        * needed. A folder: in a file there (cache.h), created at once. "auto":
                        * in memory up to 256 MiB for all `sharers`, else in the folder cache/
                        * next to the split file. */
    int workers;            /* above 0: split_keep_files */
    int sharers;            /* processes of this machine that use the same set; 0 means 1 */
    int threads;            /* that fill the file; 0 means 1 */
    const atomic_int *interrupt; /* set: cancel filling it; may be NULL */
};

struct dataset;

/* dataset_open_split and dataset_load. */
struct dataset *dataset_open(const struct dataset_config *config, struct err *e);

/* Reads the split file only. The strings of config must live until the set is loaded. */
struct dataset *dataset_open_split(const struct dataset_config *config, struct err *e);

/* Checks that each file exists with its recorded size (unless a cache file has all samples) and
 * that there is memory for the samples, which `sharers` processes of the machine share; creates the
 * cache file. The first call does this, and calls of other threads wait for its result. */
int dataset_load(struct dataset *ds, int sharers, struct err *e);
void dataset_close(struct dataset *ds);

size_t dataset_count(const struct dataset *ds, enum dataset_part part);
const char *dataset_name(const struct dataset *ds, enum dataset_part part, size_t i); /* stem */

/* Of every sample: height and width; returns the channels. */
int dataset_size(const struct dataset *ds, int *height, int *width);

/* Number of values of a mask: height * width, or 1 if each image has one class (class folders,
 * CIFAR-10, idx). */
size_t dataset_targets(const struct dataset *ds);

/* Of the names, hashes and sides of all files: equal for equal data. */
uint64_t dataset_hash(const struct dataset *ds);

/* Number of classes: 1 for foreground and background. Names are from the class file, or are
 * numbers. */
int dataset_classes(const struct dataset *ds);
const char *dataset_class_name(const struct dataset *ds, int i);

/* The content of the class file, "" without one. */
const char *dataset_class_file(const struct dataset *ds);

/* Copies sample i to image [height][width][channels], 0..1, and mask [dataset_targets]: 0..1, or
 * the number of the class if there are several, and -1 for a pixel to ignore. Without a cache file,
 * the first call for a sample decodes its files and checks their hashes. Thread-safe. */
int dataset_get(struct dataset *ds, enum dataset_part part, size_t i, float *image, float *mask,
                struct err *e);

/* Sample i at the size of its files, decoded by each call; free it. ERR_DATA. */
struct dataset_native {
    int height, width;
    float *image, *mask; /* as in dataset_get */
};
int dataset_get_native(const struct dataset *ds, enum dataset_part part, size_t i,
                       struct dataset_native *dst, struct err *e);
void dataset_native_free(struct dataset_native *native);

#endif
