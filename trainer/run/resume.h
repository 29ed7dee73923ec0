/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a training between two steps, and how it is written to a checkpoint and read again.
 *
 * All else that training depends on is a function of the seed and of this state (rng.h, shard.h,
 * schedule.h), or in the checkpoint: weights, running statistics of rank 0, the optimizer's state,
 * the epochs so far. With the same number of replicas and the same batch a training that continues
 * gives the result of one that was never interrupted, bit by bit. With another number of replicas
 * and the same global batch (train.global_batch) the steps are the same, divided otherwise; with
 * another batch the rest of the epoch is divided into steps again. */
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
#include "trainer/run/record.h"
#include "trainer/run/run_config.h"
#include "trainer/step/step.h"

struct resume_point {
    int epoch;
    size_t begin;        /* items of the epoch before its plan was made */
    size_t step;         /* steps of that plan so far */
    size_t steps_before; /* steps of the epoch in earlier plans */
    double seconds;      /* of the epoch so far */
    struct step_totals totals; /* of the epoch so far */
    bool due;            /* a validation is due */
    struct goal_state goal;
    size_t bucket;       /* numbers in the tuned bucket of gradients, or 0 */
};

/* The content of a checkpoint. */
struct training {
    const struct settings *config;
    struct dataset *dataset;
    struct comm *comm;
    struct record *record; /* rank 0 only */
    struct network *network;
    struct optim *optim;
    float *best_value, *best_state; /* rank 0 with train.keep: best, so far; else NULL */
    struct resume_point at;
    struct record_world *worlds; /* rank 0: all so far, the last is this one; to be freed */
    size_t nworlds;
};

/* Collective. Writes a checkpoint to the run's folder; items: of the epoch so far. A failure to
 * write is only a warning of rank 0, unless must is true: ERR_INTERNAL. */
int resume_write(struct training *t, size_t items, bool must, struct err *e);

struct resume_source {
    const char *attempt; /* folder of the run to continue, or NULL */
    bool again;          /* the run's own folder has an earlier start */
};

/* Collective, after the record's first line. Sets t->at from the newest intact checkpoint in the
 * run's own folder, or in that of the source, or to the beginning. Rank 0 then has the weights, and
 * the record the epochs so far; all ranks have the optimizer's state. ERR_CHECKPOINT: it is of
 * another network, plan or data, has more epochs than the run, or the source has none. */
int resume_read(struct training *t, const struct resume_source *source, struct err *e);

#endif
