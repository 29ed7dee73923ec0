/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads images ahead of the step: threads decode, copy and augment them while the network
 * computes, where a device can read them. The images of a step do not depend on the number of
 * threads. After an error of a sample, loader_next returns -1. */
#ifndef UNETCTL_TRAINER_DATA_SET_LOADER_H
#define UNETCTL_TRAINER_DATA_SET_LOADER_H

#include "trainer/core/kernel.h"
#include "trainer/data/set/augment.h"
#include "trainer/data/set/dataset.h"
#include "trainer/data/set/shard.h"

struct loader_config {
    struct dataset *dataset;      /* borrowed */
    enum dataset_part images;     /* the part of it that is loaded */
    struct shard_plan plan;       /* of a whole epoch */
    int part;                     /* index of this loader's share of each step */
    size_t repeat;                /* copies of each image in an epoch */
    int batch;                    /* largest number of items (copies of images) of a share */
    size_t epochs;
    uint64_t seed;
    struct settings_augment augment;
    int threads;                  /* 0: loader_next loads the images itself */
    const struct device_ops *ops; /* with a device: the batches are in its pinned memory */
    struct device *device;        /* NULL: there is none. Open until loader_destroy */
};

/* The batches that are in memory at a time without a device, each at most of floats. */
#define LOADER_BATCHES 3

struct loader;

/* Starts the threads; the next step is step 0 of epoch 0. The caller destroys the result. */
struct loader *loader_create(const struct loader_config *config, struct err *e);
void loader_destroy(struct loader *l);

/* Makes the given step the next one of loader_next. plan: the steps of this epoch, or NULL for
 * those of the configuration. Returns at once if that step is next already. */
void loader_seek(struct loader *l, size_t epoch, const struct shard_plan *plan, size_t step);

/* Sets *batch to the share of the next step, whose records have height * width * channels and
 * dataset_targets numbers. It is valid until the next call, with a device until the call after
 * DEVICE_SLOTS - 1 more. The last step of an epoch is followed by the first of the next; after the
 * last step of the last epoch only loader_seek or loader_destroy may be called. Does not allocate,
 * unless the data set decodes an image for the first time. */
int loader_next(struct loader *l, struct record_batch *batch, struct err *e);

#endif
