/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads training images ahead of the step: threads decode, copy and augment them while the network
 * computes. The images of a step do not depend on the number of threads. */
#ifndef UNETCTL_TRAINER_DATA_SET_LOADER_H
#define UNETCTL_TRAINER_DATA_SET_LOADER_H

#include "trainer/data/set/augment.h"
#include "trainer/data/set/dataset.h"
#include "trainer/data/set/shard.h"

struct loader_config {
    struct dataset *dataset;      /* owned by the caller */
    struct shard_plan plan;       /* of a whole epoch */
    int part;                     /* index of the share of each step */
    size_t repeat;
    int batch;                    /* largest number of items of a share */
    size_t epochs;
    uint64_t seed;
    struct settings_augment augment;
    int threads;                  /* 0: loader_next loads the images */
};

struct loader;

/* Ready for epoch 0, step 0. */
struct loader *loader_create(const struct loader_config *config, struct err *e);
void loader_destroy(struct loader *l);

/* Makes this step the next one of loader_next. plan: the steps of this epoch, or NULL for the usual
 * ones. Does nothing if that step is next already. */
void loader_seek(struct loader *l, size_t epoch, const struct shard_plan *plan, size_t step);

/* Copies the share of the next step to images [n][height][width][channels] and targets
 * [n][height][width]. After the last step of an epoch comes the first of the next. Does not
 * allocate, apart from the data set when it decodes an image for the first time. */
int loader_next(struct loader *l, float *images, float *targets, struct err *e);

#endif
