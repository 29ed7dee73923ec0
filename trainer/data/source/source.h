/* SPDX-License-Identifier: BSD-3-Clause */
/* A data folder of any layout (doc/FORMATS.md, "Data"): which samples it has, and each decoded.
 *
 * A sample's image and mask are named by locators: a file below the folder ("images/0001.png"), or
 * a record of a file with many ("train/0.records#17"). */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_SOURCE_H
#define UNETCTL_TRAINER_DATA_SOURCE_SOURCE_H

#include <stdbool.h>

#include "trainer/data/image/pixels.h"

enum source_format { SOURCE_PAIRS, SOURCE_FOLDERS, SOURCE_CIFAR, SOURCE_IDX, SOURCE_TFRECORD };
enum source_side { SOURCE_ANY, SOURCE_TRAIN, SOURCE_VAL };

struct source_item {
    char *stem;             /* a name for people, unique */
    char *image;            /* locator */
    char *mask;             /* locator; NULL where an image has one class as a whole */
    int label;              /* that class */
    enum source_side side;  /* on which the folder puts it */
};

struct source {
    enum source_format format;
    char *dir;
    struct source_item *items; /* sorted by the bytes of the stem */
    size_t count;
    char **class_names; /* where images have classes */
    int nclasses;       /* 0 where they have masks */
    struct source_files *files; /* opened containers */
};

/* Looks what dir is and lists its samples. ERR_DATA: it is nothing that is known, no samples, an
 * image without a mask, two of one stem, one class only ... */
struct source *source_open(const char *dir, struct err *e);

/* The images that a file names, one per line (with or without folders and suffix), are of that
 * side. ERR_DATA: one is not among them, or has a side already. */
int source_assign(struct source *s, const char *list_file, enum source_side side, struct err *e);

/* Does the folder itself say which samples train and which validate? Those of no side then do
 * neither. */
bool source_is_divided(const struct source *s);

/* Without listing: locators are known from a split. */
struct source *source_attach(const char *dir, enum source_format format, struct err *e);
void source_close(struct source *s);

/* pairs, folders, cifar, idx, tfrecord; decode: -1 with ERR_DATA. */
const char *source_format_encode(enum source_format format);
int source_format_decode(const char *text, enum source_format *format, struct err *e);

/* By locator; want, sha256, coloured: as in load.h. Thread-safe. */
int source_image(struct source *s, const char *locator, const char *want, char sha256[65],
                 struct pixels *img, struct err *e);
int source_mask(struct source *s, const char *locator, bool coloured, const char *want,
                char sha256[65], struct pixels *img, struct err *e);

/* Is the sample there, with this size, as far as can be told without decoding it? */
int source_check(struct source *s, const char *locator, uint32_t width, uint32_t height,
                 struct err *e);

#endif
