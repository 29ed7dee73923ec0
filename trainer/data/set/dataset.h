/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of image and mask (or class) of a frozen split, decoded once, at the size the network
 * wants. */
#ifndef UNETCTL_TRAINER_DATA_SET_DATASET_H
#define UNETCTL_TRAINER_DATA_SET_DATASET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

enum dataset_part { DATASET_TRAIN, DATASET_VAL };

#define DATASET_IGNORE 255 /* the label of a pixel that counts in no loss and no metric */

struct dataset_config {
    const char *split_file; /* split.json; its paths are relative to its "data". NULL: every pair
                             * of dir validates. */
    const char *dir;        /* NULL: the split file's "data" */
    int height, width;      /* resize keeping the aspect ratio, pad with zeros, centred */
    int channels;           /* 1: grey; 3: RGB; else the images' own number: picture.h */
    bool soft_masks;        /* false: a mask holds {0,1} or {0,255}, anything else is an error */
    int classes;            /* up to 1: foreground and background. From 2: a class per pixel;
                             * padding then is DATASET_IGNORE, and masks are resized by nearest. */
    const char *ignore;     /* mask value that does not count, as text; NULL or "" for none */
    const char *class_file; /* classes.h; NULL or "" where values are the classes */
    const char *class_text; /* what stands in it; NULL to read it */
    const char *cache;      /* where decoded samples are kept: NULL or "off": in memory, as they are
                             * asked for; a folder: in a file there (cache.h), made at once; "auto":
                             * in memory up to 256 MiB for all `sharers`, else in the folder cache/
                             * beside the split file */
    int workers;            /* above 0: of TFRecord files only a multiple of it (split_files.h) */
    int sharers;            /* processes of this machine that read the same set; 0 is 1 */
    int threads;            /* that fill the file; 0 is 1 */
    const atomic_int *interrupt; /* to give up filling it; may be NULL */
};

struct dataset;

/* Reads the split file, and does the work of dataset_load. */
struct dataset *dataset_open(const struct dataset_config *config, struct err *e);

/* The two apart: what is known of the samples without them. config's strings must live until the
 * set is loaded. */
struct dataset *dataset_open_split(const struct dataset_config *config, struct err *e);

/* Checks that each file is there with its recorded size (not where a cache file has them all
 * already) and that there is room for the samples, where so many processes share the machine's
 * memory; makes the cache file. The first call does it, of however many threads; the others wait
 * and have its result. */
int dataset_load(struct dataset *ds, int sharers, struct err *e);
void dataset_close(struct dataset *ds);

size_t dataset_count(const struct dataset *ds, enum dataset_part part);
const char *dataset_name(const struct dataset *ds, enum dataset_part part, size_t i); /* stem */

/* Of every sample: height and width; returns the channels. */
int dataset_size(const struct dataset *ds, int *height, int *width);

/* How many values a mask or its labels have: height * width, or 1 where an image has one class as a
 * whole (class folders, CIFAR-10, idx). */
size_t dataset_targets(const struct dataset *ds);

/* Over the names and hashes of all files and the side that each is on: equal for equal data. */
uint64_t dataset_hash(const struct dataset *ds);

/* The classes: 1 where there is foreground and background only. Names: from the class file, or the
 * number. */
int dataset_classes(const struct dataset *ds);
const char *dataset_class_name(const struct dataset *ds, int i);

/* The text of the class file, "" without one. */
const char *dataset_class_file(const struct dataset *ds);

/* Sample i into image [height][width][channels], 0..1, and mask [dataset_targets]: 0..1, or the
 * number of the class when there are several, and -1 where a pixel does not count. Without a
 * cache file the first call for a sample decodes its files and checks their hashes. Thread-safe. */
int dataset_get(struct dataset *ds, enum dataset_part part, size_t i, float *image, float *mask,
                struct err *e);

/* Sample i at the size of its files, to be freed; decoded each time. ERR_DATA. */
struct dataset_native {
    int height, width;
    float *image, *mask; /* as in dataset_get */
};
int dataset_get_native(const struct dataset *ds, enum dataset_part part, size_t i,
                       struct dataset_native *dst, struct err *e);
void dataset_native_free(struct dataset_native *native);

/* The same with labels [dataset_targets]: the class (0 and 1 where there are no several: 1 above
 * one half), or DATASET_IGNORE. */
int dataset_get_labels(struct dataset *ds, enum dataset_part part, size_t i, float *image,
                       uint8_t *labels, struct err *e);

#endif
