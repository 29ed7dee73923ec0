/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one session per replica of this process: one, or a thread each. */
#ifndef UNETCTL_TRAINER_RUN_REPLICAS_H
#define UNETCTL_TRAINER_RUN_REPLICAS_H

#include "trainer/run/session.h"

/* Returns the communicator that sums gradients as train.allreduce says:
 *
 *   bucketed   in buckets of equal size while backward runs: between nodes by a thread, within a
 *              node at the end, where starting earlier gains nothing
 *   native     each tensor by itself, by a thread, as the reference's tf.distribute did
 *   horovod    as Horovod's tensor fusion: in each cycle a thread copies the tensors that all ranks
 *              have into one buffer and sums that
 *
 * Devices that NCCL connects sum in their queues, bucketed or native. Owns inner, which may be the
 * result. NULL on error; inner then stays the caller's. */
struct comm *replicas_connect(const struct settings *c, struct comm *inner, struct err *e);

/* Both return 0, 1 or -1 as session_run. common: comm is not set; rank 0 uses the record. */

/* Runs the replica that c (self, MPI or NCCL) connects. */
int replicas_run_one(const struct session_config *common, struct comm *c, struct err *e);

/* Runs n replicas connected by comm_thread, and by NCCL if nccl is true. e: the error of the
 * replica that failed first. */
int replicas_run_threads(const struct session_config *common, int n, bool nccl, struct err *e);

#endif
