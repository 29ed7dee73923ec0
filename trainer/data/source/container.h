/* SPDX-License-Identifier: BSD-3-Clause */
/* Files with many samples: CIFAR-10 batches, idx images with their labels (also compressed by gzip,
 * as MNIST), TFRecord shards. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_CONTAINER_H
#define UNETCTL_TRAINER_DATA_SOURCE_CONTAINER_H

#include <stdbool.h>

#include "trainer/data/image/pixels.h"

enum container_kind { CONTAINER_CIFAR, CONTAINER_IDX, CONTAINER_TFRECORD };

#define CONTAINER_CIFAR_CLASSES 10

struct container;

/* By its name: CIFAR-10's *_batch*.bin, idx images (not labels), *.records. */
bool container_guess(const char *name, enum container_kind *kind);

/* Opens dir/name; for idx the file of the images ("train-images-idx3-ubyte.gz"), next to that of
 * the labels. Sizes in headers are checked against the file before memory is allocated. */
struct container *container_open(enum container_kind kind, const char *dir, const char *name,
                                 struct err *e);
void container_close(struct container *c);

size_t container_count(const struct container *c);

/* The class of a sample; -1 if it has a mask; -2 on error. Reads a TFRecord. */
int container_label(const struct container *c, size_t i, struct err *e);

/* Sample i, thread-safe. want, sha256: of the sample's bytes, as in load.h. */
int container_image(const struct container *c, size_t i, const char *want, char sha256[65],
                    struct pixels *img, struct err *e);
int container_mask(const struct container *c, size_t i, const char *want, char sha256[65],
                   struct pixels *img, struct err *e);

#endif
