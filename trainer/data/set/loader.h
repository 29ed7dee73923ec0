/* SPDX-License-Identifier: BSD-3-Clause */
/* Training pictures ahead of the step that wants them: threads decode, copy and augment while the
 * network computes. What a step gets does not depend on the number of threads. */
#ifndef UNETCTL_TRAINER_DATA_SET_LOADER_H
#define UNETCTL_TRAINER_DATA_SET_LOADER_H

#include "trainer/data/set/augment.h"
#include "trainer/data/set/dataset.h"
#include "trainer/data/set/shard.h"

struct loader_config {
    struct dataset *dataset;      /* of pictures; stays the caller's */
    struct shard_plan plan;       /* of a whole epoch */
    int part;                     /* whose share of each step */
    size_t repeat;
    int batch;                    /* the most items of a share */
    size_t epochs;
    uint64_t seed;
    struct settings_augment augment;
    bool labels;                  /* targets are uint8_t labels, not numbers (dataset.h) */
    int threads;                  /* 0: pictures are loaded when they are asked for */
};

struct loader;

/* Ready for epoch 0, step 0. */
struct loader *loader_create(const struct loader_config *config, struct err *e);
void loader_destroy(struct loader *l);

/* The next call of loader_next gives this step. plan: the steps of this epoch where they are other
 * than usual, NULL otherwise. Free of cost when that step would have come next anyway. */
void loader_seek(struct loader *l, size_t epoch, const struct shard_plan *plan, size_t step);

/* The part's share of the next step, which after the last of an epoch is the first of the next
 * epoch: n pictures into images [n][height][width][channels] and targets [n][height][width].
 * Allocates nothing that the dataset does not (it decodes each picture once). */
int loader_next(struct loader *l, float *images, void *targets, struct err *e);

#endif
