/* SPDX-License-Identifier: BSD-3-Clause */
/* One training step of a replica: load its images, forward and backward, sum the gradients over the
 * replicas (while backward, of the last of several batches, runs, if the communicator can), update.
 * It is computed on the host (step_host.c), or queued as a whole on a device (step_device.c), whose
 * communicator has queue_sum if there are several replicas. After an error only step_wait and
 * step_destroy may be called. */
#ifndef UNETCTL_TRAINER_STEP_STEP_H
#define UNETCTL_TRAINER_STEP_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/comm.h"
#include "trainer/data/set/loader.h"
#include "trainer/data/set/shard.h"
#include "trainer/network/network.h"
#include "trainer/optim/optim.h"
#include "trainer/step/gradient_noise.h"
#include "trainer/step/trace.h"

/* Votes are summed over the replicas in each step: to leave, or to write a checkpoint. */
enum step_vote { STEP_LEAVE, STEP_CHECKPOINT, STEP_VOTES };

/* All pointers must outlive the step. */
struct step_config {
    struct network *network;
    const struct network_config *network_config;
    struct optim *optim;
    struct comm *comm;
    struct trace *trace; /* may be NULL */
    uint64_t seed;
    int accumulate;      /* batches per step, whose gradients are summed */
    bool ignores;        /* the loss ignores some pixels */
    double clip_norm;    /* 0: none */
    size_t bucket; /* gradients are summed in buckets of so many elements, each as soon as backward
                    * has completed it or later (comm.h); a multiple of 16; the same on every
                    * rank */
};

struct step_work {
    struct loader *loader;    /* positioned at this step */
    int epoch;
    struct shard_range range; /* this replica's images */
    size_t items;             /* of all replicas */
    double rate;
    float votes[STEP_VOTES];
};

/* Sums over the steps of an epoch on this replica. */
struct step_totals {
    double loss; /* sum over pixels */
    double data_s, compute_s, comm_s; /* seconds */
};

/* What the step gathers from step_begin_epoch on. */
struct step_epoch {
    struct gradient_noise noise; /* shares: of this replica */
    int64_t *score; /* of the training images (score.h), by a device; else NULL */
};

struct step;

/* Collective. Before the network's first run, as it moves the gradients to where sums cost
 * least. */
struct step *step_create(const struct step_config *config, struct err *e);

/* NULL is fine. Called after network_stop and before network_destroy. */
void step_destroy(struct step *s);

/* Resets and returns the sums of the epoch, which belong to s; NULL on error. Collective. */
struct step_epoch *step_begin_epoch(struct step *s, struct err *e);

/* Trains a step; collective. On a device it may return before the step is complete; step_wait waits
 * for all steps and adds the rest of their losses to t. */
int step_train(struct step *s, const struct step_work *w, struct step_totals *t, struct err *e);
int step_wait(struct step *s, struct step_totals *t, struct err *e);

/* Returns [STEP_VOTES], the sums of the votes of the latest step that is complete on every replica;
 * on a device they are DEVICE_SLOTS steps old. step_drop_votes sets the votes of all complete steps
 * to 0. */
const float *step_votes(const struct step *s);
void step_drop_votes(struct step *s);

#endif
