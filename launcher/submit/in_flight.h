/* SPDX-License-Identifier: BSD-3-Clause */
/* A submission to Slurm whose answer was lost, because unetctl or sbatch was killed or Slurm did
 * not answer in time.
 *
 * Slurm may still execute it: a request that waits for a stopped controller becomes a job when the
 * controller runs again. The tags of a submission are added to the file STUDY/.unetctl/in-flight
 * before the first job is submitted, and the file is removed when the ledger has the answers, so
 * that the next submission finds it. A "submitting" in the ledger whose tag is not in the file was
 * never sent. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_IN_FLIGHT_H
#define UNETCTL_LAUNCHER_SUBMIT_IN_FLIGHT_H

#include "launcher/scheduler/scheduler.h"
#include "launcher/study/ledger.h"

/* Adds the tags of jobs to the file. Requires the ledger's lock. */
int in_flight_add(const struct ledger *l, const struct job *jobs, size_t count, struct err *e);

/* If an answer was lost, waits until all jobs of that submission have appeared, or for
 * absent_wait_s after it (absent.h), and removes the file. Requires the ledger's lock, and precedes
 * the query for the study's jobs. Returns 0, or -1: with ERR_SCHED if the scheduler cannot be
 * queried. */
int in_flight_settle(const struct ledger *l, struct scheduler *scheduler, struct err *e);

/* Removes the file: the ledger has all answers. */
void in_flight_remove(const struct ledger *l);

#endif
