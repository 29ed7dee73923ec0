/* SPDX-License-Identifier: BSD-3-Clause */
/* How the gradients of a step get to the other replicas (train.allreduce):
 *
 *   bucketed   in buckets of equal size, while backward goes on: between nodes by a thread, within a
 *              node at the end, where nothing is gained earlier
 *   native     each tensor by itself, one after the other, by a thread: as tf.distribute did in the
 *              reference (all-reduce per variable, nothing packed)
 *   horovod    by a thread that in each cycle copies the tensors which all ranks have into one buffer
 *              and sums that: Horovod's tensor fusion
 *
 * Of the first, the size of the buckets may be chosen in the first steps (train.bucket_mib 0). Between
 * devices that are connected (comm nccl) sums are in the devices' queues, bucketed or native. */
#ifndef UNETCTL_TRAINER_STEP_EXCHANGE_H
#define UNETCTL_TRAINER_STEP_EXCHANGE_H

#include "trainer/comm/comm.h"
#include "trainer/core/weights.h"
#include "trainer/run/record.h"
#include "trainer/run/run_config.h"
#include "trainer/step/bucket_tuner.h"
#include "trainer/step/gradient_cuts.h"

/* The communicator for c over inner, which is taken over and may be what is returned. NULL on error,
 * and inner stays the caller's. */
struct comm *exchange_open_comm(const struct settings *c, struct comm *inner, struct err *e);

struct exchange {
    struct gradient_cuts cuts;
    struct bucket_tuner tuner;
    bool tuning;
};

/* bucket: numbers of a bucket that was chosen before, 0: none was. */
int exchange_begin(struct exchange *x, const struct settings *c, const struct weights *w,
                   size_t bucket, struct err *e);
void exchange_end(struct exchange *x);

/* Collective while tuning: this rank's step took so long. *bucket is set when the size has been chosen,
 * and that is recorded (rank 0's record; NULL elsewhere). */
int exchange_add_step(struct exchange *x, struct comm *comm, const struct weights *w, double seconds,
                      struct record *record, size_t *bucket, struct err *e);

#endif
