/* SPDX-License-Identifier: BSD-3-Clause */
/* What step.c shares with the two kinds of step, on the host and on a device. */
#pragma once

#include "trainer/step/step.h"

/* The images of a step on this replica: a batch of the loader, which the network computes in one
 * part or in several (train.accumulate). */

struct step_input {
    struct network *network;
    int parts;
    struct record_batch batch;
};

/* step_input_part returns the range of part i among n images. step_input_place makes a part the
 * network's input, which the only part is already. */
struct shard_range step_input_part(const struct step_input *in, size_t n, int i);
int step_input_place(const struct step_input *in, struct shard_range part, struct err *e);

/* Returns whether part i is empty on all replicas, which share `items` images. All leave it out
 * then: synchronised batch norm has no statistics of it. The last part is never empty
 * everywhere. */
bool step_input_is_idle(const struct step_input *in, size_t items, int replicas, int i);

/* What step.c shares with the two kinds of step, on the host and on a device. */

struct step {
    const struct step_kind *kind;
    struct step_config config;
    struct step_input input;
    struct step_epoch epoch;
    struct mirror scores; /* epoch.score */
    bool has_noise;          /* several batches per step: gradient noise can be estimated */
    float votes[STEP_VOTES]; /* of the current step, on the host */
    double comm_s;           /* seconds of the current step's compute that collectives took */
};

struct step_kind {
    size_t size; /* of the kind's struct, which begins with struct step */
    int (*open)(struct step *s, struct err *e);
    /* (optional) Called before the step's images are loaded. */
    int (*begin)(struct step *s, const struct step_work *w, struct err *e);
    /* Runs forward and backward, and starts the sums of gradients and votes. */
    int (*compute)(struct step *s, const struct step_work *w, struct network_step run, double *loss,
                   struct err *e);
    /* (optional) Updates the weights after the sums are complete; NULL: compute has queued it. */
    void (*apply)(struct step *s, const struct step_work *w);
    const float *(*votes)(const struct step *s); /* as step_votes */
    void (*drop_votes)(struct step *s);
    void (*close)(struct step *s); /* called after a failed open, too */
};

/* Returns the number of elements of the bucket of gradients at begin, or 0 if there is none or it
 * ends behind upto. */
size_t step_bucket(const struct step *s, size_t begin, size_t upto);

extern const struct step_kind step_host, step_device;
