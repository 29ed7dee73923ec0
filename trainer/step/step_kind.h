/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by step.c and the two kinds of step. */
#ifndef UNETCTL_TRAINER_STEP_STEP_KIND_H
#define UNETCTL_TRAINER_STEP_STEP_KIND_H

#include "trainer/step/step.h"
#include "trainer/step/step_input.h"

struct step {
    const struct step_kind *kind;
    struct step_config config;
    struct step_input input;
    struct exchange exchange;
    struct step_epoch epoch;
    bool has_noise;          /* several batches per step: gradient noise can be estimated */
    bool own_weight;         /* the device sums network_step.weight over the replicas */
    float votes[STEP_VOTES]; /* of the current step */
    double comm_s;           /* of compute in collectives, in the current step */
};

struct step_kind {
    size_t size; /* of the kind's struct, which begins with struct step */
    int (*open)(struct step *s, struct err *e);
    /* Forward and backward; starts the sums of gradients and votes. */
    int (*compute)(struct step *s, const struct step_work *w, struct network_step run, double *loss,
                   struct err *e);
    /* Updates the weights, when the sums are complete. */
    int (*apply)(struct step *s, const struct step_work *w, struct err *e);
    const float *(*votes)(const struct step *s);
    void (*drop_votes)(struct step *s);
    void (*close)(struct step *s); /* also after a failed open */
};

extern const struct step_kind step_host, step_device;

#endif
