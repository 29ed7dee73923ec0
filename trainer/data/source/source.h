/* SPDX-License-Identifier: BSD-3-Clause */
/* Data folders: the samples of a folder of any layout (doc/FORMATS.md, "Data"), and what they
 * contain.
 *
 * A source lists samples by stem. A locator names the image or mask of a sample: a file below the
 * folder ("images/0001.png"), or a record of a container ("train/0.records#17"). set/ makes splits
 * and data sets from sources, prepare/ surveys and converts them, and cmd/ checks them. Decoding is
 * thread-safe; the caller frees decoded samples with pixels_free. Whatever is wrong with a folder
 * is ERR_DATA with the name of the file and what to do.
 *
 * To read: this file and source.c, which tries the layouts in turn; layout.c and pairs.c for
 * folders of files, container.c and example.c for containers; mask_stats.h for what masks contain;
 * tree.h for folders and lists of files. */
#pragma once

#include "trainer/data/image/pixels.h"

enum source_format { SOURCE_PAIRS, SOURCE_FOLDERS, SOURCE_CIFAR, SOURCE_IDX, SOURCE_TFRECORD };
enum source_side { SOURCE_ANY, SOURCE_TRAIN, SOURCE_VAL };

struct source_item {
    char *stem;             /* unique name */
    char *image;            /* locator */
    char *mask;             /* locator, or NULL for an image with a class */
    int label;              /* the class of an image without a mask */
    enum source_side side;  /* training or validation if the folder says so, else SOURCE_ANY */
};

struct source {
    enum source_format format;
    char *dir;
    struct source_item *items; /* sorted by the bytes of the stem */
    size_t count, capacity;
    char **class_names; /* owned; of images with a class */
    int nclasses;       /* 0 if samples have masks */
    size_t class_capacity;
    struct source_files *files; /* containers that are open */
};

/* The folders of images and of masks, below the data folder or below its train/ and val/, where
 * more than one could be meant. NULL or "": found by their names. */
struct source_folders {
    const char *images, *masks;
};

/* A data folder that is being written has a file of this name. */
#define SOURCE_UNFINISHED ".unfinished"

/* Detects the format of dir and lists its samples. folders: a choice, or NULL. Returns NULL with
 * ERR_CONFIG if several folders may hold the masks, and with ERR_DATA for an unknown format, a
 * folder that is not complete, no samples, an image without a mask, two samples of one stem, a
 * single class, and the like. */
struct source *source_open(const char *dir, const struct source_folders *folders, struct err *e);

/* Assigns a side to the images that a text file names, one per line: by the path below dir, or the
 * file name with or without suffix. ERR_DATA for an unknown image, or one that has a side
 * already. */
int source_assign(struct source *s, const char *list_file, enum source_side side, struct err *e);

/* For the readers of the layouts. source_add adds a sample, which then owns image and mask, also on
 * error; stem is copied. */
int source_add(struct source *s, const char *stem, char *image, char *mask, int label,
               enum source_side side, struct err *e);
int source_add_class(struct source *s, const char *name, struct err *e);

/* Returns whether any sample has a side, by the folder or by source_assign. Samples without a side
 * are then not used. */
bool source_is_divided(const struct source *s);

/* Opens a folder without listing it, to decode by locators of a split. */
struct source *source_attach(const char *dir, enum source_format format, struct err *e);
void source_close(struct source *s);

/* The names are pairs, folders, cifar, idx and tfrecord. decode: -1 with ERR_DATA for another. */
const char *source_format_encode(enum source_format format);
int source_format_decode(const char *text, enum source_format *format, struct err *e);

enum source_part {
    SOURCE_IMAGE,
    SOURCE_VALUES, /* a mask, reduced to one channel of values */
    SOURCE_COLOURS /* a mask whose colours stand for classes, decoded as a picture */
};

/* Decodes an image or mask by its locator. sha256: set to the SHA-256 of the file or record in hex,
 * unless NULL. want: the hash recorded in split.json, or NULL to accept any; another hash is
 * ERR_DATA. A file of several pages is ERR_DATA. */
int source_decode(struct source *s, const char *locator, enum source_part part, const char *want,
                  char sha256[65], struct pixels *img, struct err *e);

/* Decodes an image and, if it has one, its mask as `part`, turned upright where they fit then. A
 * mask of another size than its image is ERR_DATA. The hashes are as in source_decode; without a
 * mask, *mask is zeroed. */
int source_decode_pair(struct source *s, const struct source_item *item, enum source_part part,
                       char image_sha256[65], char mask_sha256[65], struct pixels *image,
                       struct pixels *mask, struct err *e);

/* Returns 0 if the locator's file or record exists and its header has this size; otherwise
 * ERR_DATA. The size of a record is not checked. */
int source_check(struct source *s, const char *locator, uint32_t width, uint32_t height,
                 struct err *e);

/* Opens a container of the source's format. The caller closes it. */
struct container;
struct container *source_container(const struct source *s, const char *name, struct err *e);

/* Files that hold many samples: CIFAR-10 batches, idx images with their labels (as of MNIST, plain
 * or compressed by gzip), and TFRecord shards, also compressed by gzip. Reading samples is
 * thread-safe. */

/* Detects a container by its file name: CIFAR-10's data_batch*.bin and test_batch*.bin,
 * *images-idx3-ubyte with or without .gz (not labels), *.records. If the result is false, *kind is
 * undefined. */
bool container_guess(const char *name, enum source_format *kind);

/* Returns whether the first bytes of a file, decompressed if it is gzip, begin a TFRecord file. */
bool container_is_tfrecord(const char *path);

/* Opens a file of the kind cifar, idx or tfrecord. For idx it is the file of images
 * ("train-images-idx3-ubyte.gz"), whose labels must lie in the same folder. The sizes in headers
 * are checked against the file before memory is allocated. Returns NULL on error, with ERR_DATA for
 * damaged files. */
struct container *container_open(enum source_format kind, const char *path, struct err *e);
void container_close(struct container *c);

size_t container_count(const struct container *c);

/* Returns the class of sample i, -1 if it has a mask instead, or -2 on error. */
int container_label(const struct container *c, size_t i, struct err *e);

/* Decodes the image or mask of sample i. sha256: set to the SHA-256 in hex of the sample's record
 * (idx: of the image and its label), unless NULL. want: the expected one, or NULL; another is
 * ERR_DATA. */
int container_decode(const struct container *c, size_t i, bool mask, const char *want,
                     char sha256[65], struct pixels *img, struct err *e);
