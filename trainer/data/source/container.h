/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that hold many samples: CIFAR-10 batches, idx images with their labels (as of MNIST, plain
 * or compressed by gzip), and TFRecord shards, also compressed by gzip. Reading samples is
 * thread-safe. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_CONTAINER_H
#define UNETCTL_TRAINER_DATA_SOURCE_CONTAINER_H

#include <stdbool.h>

#include "trainer/data/image/pixels.h"

enum container_kind { CONTAINER_CIFAR, CONTAINER_IDX, CONTAINER_TFRECORD };

#define CONTAINER_CIFAR_CLASSES 10

struct container;

/* Detects a container by its file name: CIFAR-10's data_batch*.bin and test_batch*.bin,
 * *images-idx3-ubyte with or without .gz (not labels), *.records. If the result is false, *kind is
 * undefined. */
bool container_guess(const char *name, enum container_kind *kind);

/* Returns whether the first bytes of a file, decompressed if it is gzip, begin a TFRecord file. */
bool container_is_tfrecord(const char *path);

/* Opens a file. For idx it is the file of images ("train-images-idx3-ubyte.gz"), whose labels must
 * lie in the same folder. The sizes in headers are checked against the file before memory is
 * allocated. Returns NULL on error, with ERR_DATA for damaged files. */
struct container *container_open(enum container_kind kind, const char *path, struct err *e);
void container_close(struct container *c);

size_t container_count(const struct container *c);

/* Returns the class of sample i, -1 if it has a mask instead, or -2 on error. */
int container_label(const struct container *c, size_t i, struct err *e);

/* Decodes the image or mask of sample i. sha256: set to the SHA-256 in hex of the sample's record
 * (idx: of the image and its label), unless NULL. want: the expected one, or NULL; another is
 * ERR_DATA. */
int container_decode(const struct container *c, size_t i, bool mask, const char *want,
                     char sha256[65], struct pixels *img, struct err *e);

#endif
