/* SPDX-License-Identifier: BSD-3-Clause */
/* One training step of a replica: its images, forward and backward, the sum of the gradients over the
 * replicas while backward goes on, the update. With train.accumulate a step is computed in several
 * parts. Steps of a device are device_step's as far as they need nothing of the host. */
#ifndef UNETCTL_TRAINER_STEP_STEP_H
#define UNETCTL_TRAINER_STEP_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/data/set/shard.h"

struct session;

/* Gradients on their way to the other replicas while backward goes on. */
struct step_reduction {
    struct session *session;
    size_t ncuts;    /* slices that are under way: those before */
    double square;   /* of those, before others' were added */
    double comm_s;
};

/* Behind network_create. On failure, too, step_close is called before the network is destroyed. */
int step_open(struct session *s, struct err *e);
void step_close(struct session *s);

/* The gradients to where the other ranks reach them, if they can. Before any step. */
int step_place_gradients(struct session *s, struct err *e);

/* range: this replica's images; items: those of all replicas in this step. */
int step_train(struct session *s, struct shard_range range, size_t items, double rate,
               struct err *e);

/* Do steps consist of several batches, whose gradients differ? */
bool step_has_noise(const struct session *s);

/* Images [begin, end) of the step that is loaded, to the network: with train.accumulate. */
int step_place_images(struct session *s, size_t begin, size_t end, struct err *e);

#endif
