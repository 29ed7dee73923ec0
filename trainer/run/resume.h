/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a training between two steps, and its checkpoints.
 *
 * A checkpoint has this state, the weights (with train.keep: best also the best ones), rank 0's
 * running statistics of batch norm, the optimizer's state and the epochs so far; all else is a
 * function of these and the seed (rng.h, shard.h, schedule.h). With the same number of replicas and
 * the same batch a resumed training gives the result of an uninterrupted one to the last bit (on
 * GPUs surely only with train.deterministic). With another number of replicas and the same
 * train.global_batch the steps are the same, but divided differently. With another batch the rest
 * of the epoch is divided into steps again. */
#ifndef UNETCTL_TRAINER_RUN_RESUME_H
#define UNETCTL_TRAINER_RUN_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/comm.h"
#include "trainer/data/set/dataset.h"
#include "trainer/network/network.h"
#include "trainer/optim/optim.h"
#include "trainer/run/goal.h"
#include "trainer/run/run_config.h"
#include "trainer/run/run_log.h"
#include "trainer/step/step.h"

/* A plan is the division of the images of an epoch, or of its rest, into steps. */
struct resume_point {
    int epoch;           /* completed epochs; "the epoch" below is the next one */
    size_t begin;        /* its images that were used before its current plan was made */
    size_t step;         /* completed steps of that plan */
    size_t steps_before; /* completed steps of the epoch in earlier plans */
    double seconds;      /* spent in the epoch so far */
    struct step_totals totals; /* of the epoch so far */
    bool due;            /* a validation comes before the next step */
    struct goal_state goal;
};

/* A training: the objects whose state checkpoints contain. */
struct training {
    const struct settings *config;
    struct dataset *dataset;
    struct comm *comm;
    struct run_log *log; /* rank 0 only */
    struct network *network;
    struct optim *optim;
    float *best_value, *best_state; /* rank 0 with train.keep: best: the best weights; else NULL */
    struct resume_point at;
    struct run_log_world *worlds; /* rank 0: all so far, the last is the current one; owned */
    size_t nworlds;
};

/* Writes a checkpoint to the run's folder; collective. items: images of the epoch used so far. If
 * it cannot be written, rank 0 logs a warning and returns 0, or with `must` -1 with ERR_INTERNAL.
 * -1 with ERR_RESUMABLE if this process must not write in the folder any more. */
int resume_write(struct training *t, size_t items, bool must, struct err *e);

struct resume_source {
    const char *attempt; /* folder of another run to continue, or NULL */
    bool again;          /* the run's own folder has an earlier start */
};

/* Sets t->at from the newest intact checkpoint in the run's own folder, or else in that of the
 * source, or to the beginning. Collective, called after the record's first line. Afterwards rank 0
 * has the weights, the record has the epochs so far, and all ranks have the optimizer's state. -1
 * with ERR_CHECKPOINT if the checkpoint has another network, plan or data, other settings that may
 * not change, or more epochs than the run, or if the source has no checkpoint. */
int resume_read(struct training *t, const struct resume_source *source, struct err *e);

/* Broadcasts the weights of rank 0. */
int resume_share_weights(const struct training *t, struct err *e);

#endif
