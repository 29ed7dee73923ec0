/* SPDX-License-Identifier: BSD-3-Clause */
/* The images of a step on this replica. With one part they are loaded into the network's input;
 * with several (train.accumulate) into a buffer, from which each part is copied to the network. */
#ifndef UNETCTL_TRAINER_STEP_STEP_INPUT_H
#define UNETCTL_TRAINER_STEP_STEP_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/data/set/loader.h"
#include "trainer/data/set/shard.h"
#include "trainer/network/network.h"

struct step_input {
    struct network *network;
    int parts;
    size_t image, target;    /* elements of one image and of its targets */
    float *images, *targets; /* the buffer; NULL with one part */
};

/* images: the most images of a step. step_input_close must be called after an error, too. */
int step_input_open(struct step_input *in, struct network *n, const struct network_config *config,
                    int parts, size_t images, struct err *e);
void step_input_close(struct step_input *in);

/* Waits until the network's input for n images is free; with several parts returns at once. */
int step_input_wait(const struct step_input *in, size_t n, struct err *e);

/* Loads the loader's next n images. */
int step_input_load(const struct step_input *in, struct loader *loader, size_t n, struct err *e);

/* step_input_part returns the range of part i among n images. step_input_place copies a part to the
 * network's input, where the only part is already. */
struct shard_range step_input_part(const struct step_input *in, size_t n, int i);
int step_input_place(const struct step_input *in, struct shard_range part, struct err *e);

/* Returns whether part i is empty on all replicas, which share `items` images. All leave it out
 * then: synchronised batch norm has no statistics of it. The last part is never empty
 * everywhere. */
bool step_input_is_idle(const struct step_input *in, size_t items, int replicas, int i);

/* Sets *divisor to the sum of network_loss_divisor over the parts of n images. */
int step_input_loss_divisor(const struct step_input *in, size_t n, double *divisor, struct err *e);

#endif
