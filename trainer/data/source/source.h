/* SPDX-License-Identifier: BSD-3-Clause */
/* A data folder of any layout (doc/FORMATS.md, "Data"): lists its samples and decodes them.
 *
 * Locators name the image and mask of a sample: a file below the folder ("images/0001.png"), or a
 * record of a container ("train/0.records#17"). */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_SOURCE_H
#define UNETCTL_TRAINER_DATA_SOURCE_SOURCE_H

#include <stdbool.h>

#include "trainer/data/image/pixels.h"

enum source_format { SOURCE_PAIRS, SOURCE_FOLDERS, SOURCE_CIFAR, SOURCE_IDX, SOURCE_TFRECORD };
enum source_side { SOURCE_ANY, SOURCE_TRAIN, SOURCE_VAL };

struct source_item {
    char *stem;             /* unique name */
    char *image;            /* locator */
    char *mask;             /* locator; NULL for an image with a class */
    int label;              /* that class */
    enum source_side side;  /* by the folder */
};

struct source {
    enum source_format format;
    char *dir;
    struct source_item *items; /* sorted by the bytes of the stem */
    size_t count, capacity;
    char **class_names; /* of images with a class */
    int nclasses;       /* 0 with masks */
    size_t class_capacity;
    struct source_files *files; /* opened containers */
};

/* Detects the format of dir and lists its samples. ERR_DATA: unknown format, no samples, an image
 * without a mask, two of one stem, a single class ... */
struct source *source_open(const char *dir, struct err *e);

/* Assigns a side to the images that a file names, one per line (with or without folders and
 * suffix). ERR_DATA: an unknown image, or one that has a side already. */
int source_assign(struct source *s, const char *list_file, enum source_side side, struct err *e);

/* Does the folder divide its samples into training and validation? Then those of no side are not
 * used. */
bool source_is_divided(const struct source *s);

/* Opens a folder without listing it, for locators of a split. */
struct source *source_attach(const char *dir, enum source_format format, struct err *e);
void source_close(struct source *s);

/* pairs, folders, cifar, idx, tfrecord. decode: -1 with ERR_DATA. */
const char *source_format_encode(enum source_format format);
int source_format_decode(const char *text, enum source_format *format, struct err *e);

/* Decode by locator. want, sha256, coloured: as in load.h. Thread-safe. */
int source_image(struct source *s, const char *locator, const char *want, char sha256[65],
                 struct pixels *img, struct err *e);
int source_mask(struct source *s, const char *locator, bool coloured, const char *want,
                char sha256[65], struct pixels *img, struct err *e);

/* Does the file exist, with this size, by its header? */
int source_check(struct source *s, const char *locator, uint32_t width, uint32_t height,
                 struct err *e);

/* Opens a container of the source's format, to be closed by the caller. */
struct container;
struct container *source_container(const struct source *s, const char *name, struct err *e);

#endif
