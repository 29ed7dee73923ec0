/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of a split, image and mask or class, decoded once at the size of the network.
 *
 * A data set owns its decoded samples; dataset_close frees them. Functions with an error argument
 * return NULL or -1, with ERR_DATA for files that are missing, damaged or different from the
 * split's. */
#ifndef UNETCTL_TRAINER_DATA_SET_DATASET_H
#define UNETCTL_TRAINER_DATA_SET_DATASET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/kernel.h"
#include "trainer/data/image/mask.h"
#include "trainer/data/image/scale.h"
#include "trainer/data/source/source.h"

enum dataset_part { DATASET_TRAIN, DATASET_VAL };

struct dataset_config {
    /* Path of split.json, whose files are relative to its "data", or NULL: all pairs of dir are
     * used for validation. */
    const char *split_file;
    const char *dir;        /* data folder instead of the split's "data", or NULL */
    const struct source_folders *folders; /* without a split file; NULL: found by their names */
    /* Images are resized with their aspect ratio kept, and padded with zeros. */
    int height, width;
    /* 1 for grey, 3 for RGB, or the number that the images have (picture.h). */
    int channels;
    enum scale scale; /* of the images' samples */
    /* Masks of classes, or with a value to ignore, are resized by taking the nearest pixel and
     * padded with RECORD_IGNORE; others as images. */
    struct mask_options masks;
    /* Where decoded samples are kept. NULL or "off": in memory, decoded when needed. A folder: in a
     * file there (cache.h), created at once. "auto": in memory up to 256 MiB for all `sharers` or
     * without a split file, otherwise in the folder cache/ next to the split file. */
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

/* Sets the height and width that all samples have, and returns their channels. */
int dataset_size(const struct dataset *ds, int *height, int *width);

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

/* Returns the content of the class file, or "" without one. */
const char *dataset_class_file(const struct dataset *ds);

/* Returns the record of sample i, of height * width * channels and dataset_targets numbers, valid
 * until dataset_close. Without a cache file, the first call for a sample decodes its files and
 * checks their hashes. Thread-safe. */
const struct record *dataset_record(struct dataset *ds, enum dataset_part part, size_t i,
                                    struct err *e);

/* Copies sample i to image [height][width][channels], 0..1 (scale.h), and mask [dataset_targets]:
 * 0..1, or the class number if there are several; ignored pixels are -1. Otherwise as
 * dataset_record. */
int dataset_get(struct dataset *ds, enum dataset_part part, size_t i, float *image, float *mask,
                struct err *e);

/* Decodes sample i at the size of its files, anew in each call. The caller frees it with
 * dataset_native_free. */
struct dataset_native {
    int height, width;
    float *image, *mask; /* as in dataset_get */
};
int dataset_get_native(const struct dataset *ds, enum dataset_part part, size_t i,
                       struct dataset_native *dst, struct err *e);
void dataset_native_free(struct dataset_native *native);

#endif
