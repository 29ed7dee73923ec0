/* SPDX-License-Identifier: BSD-3-Clause */
/* What step.c shares with the two kinds of step, on the host and on a device. */
#pragma once

#include "trainer/step/step.h"

#define STEP_QUEUED 4 /* entries of rings of steps: more than DEVICE_SLOTS, a power of 2 */

struct step {
    const struct step_kind *kind;
    struct step_config config;
    struct record_batch batch; /* the images of the current step on this replica */
    struct step_epoch epoch;
    struct mirror scores; /* epoch.score */
    bool has_noise;          /* several batches per step: gradient noise can be estimated */
    double comm_s;           /* seconds of the current step's compute that collectives took */
    float votes[STEP_QUEUED][STEP_VOTES]; /* ring of the steps' votes */
    size_t nsteps; /* computed, or on a device queued */
    size_t delay;  /* the votes of the last step but so many are known on every replica */
};

/* The batch of a step is computed in config.accumulate parts. step_part returns the range of part i
 * among n images. step_place makes a part the network's input, which the only part is already. */
struct shard_range step_part(const struct step *s, size_t n, int i);
int step_place(const struct step *s, struct shard_range part, struct err *e);

/* Returns whether part i of a step of so many images is empty on all replicas, which share them.
 * All leave it out then: synchronised batch norm has no statistics of it. The last part is never
 * empty everywhere. */
bool step_is_idle(const struct step *s, size_t items, int i);

/* What the two kinds do differently. */
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
    void (*close)(struct step *s); /* called after a failed open, too */
};

/* Returns the number of elements of the bucket of gradients at begin, or 0 if there is none or it
 * ends behind upto. */
size_t step_bucket(const struct step *s, size_t begin, size_t upto);

extern const struct step_kind step_host, step_device;
