/* SPDX-License-Identifier: BSD-3-Clause */
/* The images of a step on this replica: a batch of the loader, which the network computes in one
 * part or in several (train.accumulate). */
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
    struct record_batch batch;
};

/* Takes the loader's next batch. network_await has been called: the loader reuses the memory of
 * earlier ones. */
int step_input_load(struct step_input *in, struct loader *loader, struct err *e);

/* step_input_part returns the range of part i among n images. step_input_place makes a part the
 * network's input, which the only part is already. */
struct shard_range step_input_part(const struct step_input *in, size_t n, int i);
int step_input_place(const struct step_input *in, struct shard_range part, struct err *e);

/* Returns whether part i is empty on all replicas, which share `items` images. All leave it out
 * then: synchronised batch norm has no statistics of it. The last part is never empty
 * everywhere. */
bool step_input_is_idle(const struct step_input *in, size_t items, int replicas, int i);

#endif
