/* SPDX-License-Identifier: BSD-3-Clause */
/* The replicas of this process: one session, or several, each in a thread of its own. */
#ifndef UNETCTL_TRAINER_RUN_REPLICAS_H
#define UNETCTL_TRAINER_RUN_REPLICAS_H

#include "trainer/run/session.h"

/* Returns the communicator that sums gradients: between nodes one with a thread that sums while
 * backward runs, within a node inner, as starting earlier gains nothing there. The result owns
 * inner, or is inner. NULL on error; inner then still belongs to the caller. */
struct comm *replicas_connect(const struct settings *c, struct comm *inner, struct err *e);

/* Runs the replica of this process, which c (self, MPI or NCCL) connects to the others. Of common,
 * comm is ignored, and only rank 0 uses record. Returns as session_run. */
int replicas_run_one(const struct session_config *common, struct comm *c, struct err *e);

/* The same for n replicas, which are connected by comm_thread, and also by NCCL if nccl is true.
 * After -1 *e is the error of the first replica (by rank) that failed by itself. */
int replicas_run_threads(const struct session_config *common, int n, bool nccl, struct err *e);

#endif
