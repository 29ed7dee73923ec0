/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one session per replica of this process: one, or a thread each. */
#ifndef UNETCTL_TRAINER_RUN_REPLICAS_H
#define UNETCTL_TRAINER_RUN_REPLICAS_H

#include "trainer/run/session.h"

/* Both: 0, 1 or -1 as session_run. */

/* The replica that c connects: self, MPI or NCCL. common: a session without comm; its record is used on
 * rank 0 only. */
int replicas_run_one(const struct session *common, struct comm *c, struct err *e);

/* n replicas connected by comm_thread, with nccl by NCCL as well. On failure e is the error of the one that failed first. */
int replicas_run_threads(const struct session *common, int n, bool nccl, struct err *e);

#endif
