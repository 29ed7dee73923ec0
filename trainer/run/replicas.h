/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one session per replica of this process: one, or a thread each. */
#ifndef UNETCTL_TRAINER_RUN_REPLICAS_H
#define UNETCTL_TRAINER_RUN_REPLICAS_H

#include "trainer/run/session.h"

/* The communicator by which gradients are summed as c says (train.allreduce):
 *
 *   bucketed   in buckets of equal size, while backward runs: between nodes by a thread, within a
 *              node at the end, where nothing is gained earlier
 *   native     each tensor by itself, one after the other, by a thread: as tf.distribute did in the
 *              reference (all-reduce per variable, nothing packed)
 *   horovod    by a thread that in each cycle copies the tensors which all ranks have into one
 * buffer and sums that: Horovod's tensor fusion
 *
 * Between devices that are connected (comm nccl) sums are in the devices' queues, bucketed or
 * native. inner is taken over, and may be what is returned. NULL on error: inner stays the
 * caller's. */
struct comm *replicas_connect(const struct settings *c, struct comm *inner, struct err *e);

/* Both: 0, 1 or -1 as session_run. common: without comm; its record is used on rank 0 only. */

/* The replica that c connects: self, MPI or NCCL. */
int replicas_run_one(const struct session_config *common, struct comm *c, struct err *e);

/* n replicas connected by comm_thread, with nccl by NCCL as well. On failure e is the error of the
 * one that failed first. */
int replicas_run_threads(const struct session_config *common, int n, bool nccl, struct err *e);

#endif
