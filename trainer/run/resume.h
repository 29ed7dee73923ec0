/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a training stands between two steps, and how that gets into a checkpoint and out again.
 *
 * Everything else that training depends on is a function of the seed and of this point (rng.h,
 * shard.h, schedule.h), or equal on all ranks and in the checkpoint: weights, running statistics of
 * rank 0, the optimizer's state, the epochs so far. A training that goes on with the same number of
 * replicas and the same batch therefore goes on as if it had never stopped, bit by bit. With another
 * number of replicas and the same batch over all of them (train.global_batch) the steps stay the same
 * and are divided otherwise; with another batch the rest of the epoch is cut into steps anew. */
#ifndef UNETCTL_TRAINER_RUN_RESUME_H
#define UNETCTL_TRAINER_RUN_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/run/goal.h"

struct session;

struct resume_point {
    int epoch;
    size_t begin;      /* items of the epoch that were done before its plan was made */
    size_t step;       /* steps of that plan that are done */
    size_t steps_before; /* steps of the epoch that belong to earlier plans */
    double seconds;    /* that the epoch has taken so far */
    double loss;       /* this replica's sum over pixels of the epoch */
    double data_s, compute_s, comm_s; /* of the epoch so far, this replica's */
    bool due;          /* the epochs that are done are to be validated */
    struct goal_state goal;
    size_t bucket;     /* numbers of a bucket of gradients, when that was chosen; else 0 */
};

/* Collective. Writes s->at into the run's folder; items: of the epoch that are done. What fails in
 * writing is told on rank 0 and is no error, unless it must: ERR_INTERNAL. */
int resume_write(struct session *s, size_t items, bool must, struct err *e);

/* Collective, after the record's first line. Sets s->at: from the newest whole checkpoint in the
 * run's own folder, else in that of s->resume_from, else the beginning. Rank 0 then has the weights
 * and the record the epochs so far; the optimizer's state is shared. ERR_CHECKPOINT: it belongs to
 * another network, plan or data, has more epochs than the run, or s->resume_from has none. */
int resume_read(struct session *s, struct err *e);

#endif
