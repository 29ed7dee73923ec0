/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a training stands between two steps, and how that gets into a checkpoint and out again.
 *
 * Everything else that training depends on is a function of the seed and of this point (rng.h,
 * shard.h, schedule.h), or equal on all ranks and in the checkpoint: weights, running statistics of
 * rank 0, the optimizer's state, the epochs so far. A training that goes on with the same number of
 * replicas and the same batch therefore goes on as if it had never stopped, bit by bit. With
 * another number of replicas and the same batch over all of them (train.global_batch) the steps
 * stay the same and are divided otherwise; with another batch the rest of the epoch is cut into
 * steps anew. */
#ifndef UNETCTL_TRAINER_RUN_RESUME_H
#define UNETCTL_TRAINER_RUN_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/comm.h"
#include "trainer/core/network.h"
#include "trainer/data/set/dataset.h"
#include "trainer/optim/optim.h"
#include "trainer/run/goal.h"
#include "trainer/run/record.h"
#include "trainer/run/run_config.h"
#include "trainer/step/step.h"

struct resume_point {
    int epoch;
    size_t begin;        /* items of the epoch that were done before its plan was made */
    size_t step;         /* steps of that plan that are done */
    size_t steps_before; /* steps of the epoch that belong to earlier plans */
    double seconds;      /* that the epoch has taken so far */
    struct step_totals totals; /* of the epoch so far */
    bool due;            /* the epochs that are done are to be validated */
    struct goal_state goal;
    size_t bucket;       /* numbers of a bucket of gradients, when that was chosen; else 0 */
};

/* What a checkpoint is made of. */
struct training {
    const struct settings *config;
    struct dataset *dataset;
    struct comm *comm;
    struct record *record; /* rank 0 only */
    struct network *network;
    struct optim *optim;
    float *best_value, *best_state; /* rank 0 with train.keep best: the best so far; else NULL */
    struct resume_point at;
    struct record_world *worlds; /* rank 0: that the run has had, at last this one; to be freed */
    size_t nworlds;
};

/* Collective. Writes t->at into the run's folder; items: of the epoch that are done. What fails in
 * writing is told on rank 0 and is no error, unless it must: ERR_INTERNAL. */
int resume_write(struct training *t, size_t items, bool must, struct err *e);

struct resume_source {
    const char *attempt; /* folder of the attempt to continue; NULL: none */
    bool again;          /* the run's own folder had an earlier start of it */
};

/* Collective, after the record's first line. Sets t->at: from the newest whole checkpoint in the
 * run's own folder, else in that of the source, else the beginning. Rank 0 then has the weights
 * and the record the epochs so far; the optimizer's state is shared. ERR_CHECKPOINT: it belongs to
 * another network, plan or data, has more epochs than the run, or the source has none. */
int resume_read(struct training *t, const struct resume_source *source, struct err *e);

#endif
