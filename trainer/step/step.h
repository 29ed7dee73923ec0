/* SPDX-License-Identifier: BSD-3-Clause */
/* One training step of a replica: load its images, forward and backward, sum the gradients over the
 * replicas while backward runs, update. It runs on the host (step_host.c) or is queued as a whole
 * on a device (step_device.c). After an error only step_wait and step_destroy may be called. */
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
#include "trainer/step/exchange.h"
#include "trainer/step/gradient_noise.h"
#include "trainer/step/trace.h"

/* Summed over the replicas in each step. */
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
    size_t images;       /* of this replica in a step, at most */
    bool ignores;        /* the loss ignores some pixels */
    double clip_norm;    /* 0: none */
    struct exchange_config exchange;
};

struct step_work {
    struct loader *loader;    /* positioned at this step */
    int epoch;
    struct shard_range range; /* this replica's images */
    size_t items;             /* of all replicas */
    double rate;
    float votes[STEP_VOTES];
};

/* Of this replica, summed over the steps of an epoch. */
struct step_totals {
    double loss; /* sum over pixels */
    double data_s, compute_s, comm_s;
};

/* Since step_begin_epoch. */
struct step_epoch {
    struct gradient_noise noise; /* shares: of this replica */
    int64_t *score; /* of the training images (score.h), by a device; else NULL */
};

struct step;

/* Collective. Before the network's first run, as it moves the gradients to where sums cost
 * least. */
struct step *step_create(const struct step_config *config, struct err *e);

/* NULL is fine. After network_stop, before network_destroy. */
void step_destroy(struct step *s);

struct step_epoch *step_begin_epoch(struct step *s);

/* Collective. On a device the step may still run on return; step_wait waits for it and adds the
 * rest of its loss to t. */
int step_train(struct step *s, const struct step_work *w, struct step_totals *t, struct err *e);
int step_wait(struct step *s, struct step_totals *t, struct err *e);

/* The votes of the last step whose sums every replica has; on a device they are DEVICE_SLOTS steps
 * old. step_drop_votes sets the votes of all steps so far to 0. */
const float *step_votes(const struct step *s);
void step_drop_votes(struct step *s);

/* The timed bucket sizes, after the step that completed the choice; else NULL. */
const struct bucket_tuner *step_tuned(const struct step *s);

#endif
