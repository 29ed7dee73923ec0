/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that end a run.
 *
 * SIGTERM, SIGUSR1 and a first SIGINT request a training to finish its step, write a checkpoint and
 * end without a marker, so that it can be resumed; after SIGINT the exit code is 130. A SIGINT
 * after any of these signals ends it at once with the marker FAILED. A SIGTERM that comes
 * LOCAL_RANKS_TWICE_S or more after a SIGTERM or SIGINT ends it without a marker, so that it
 * resumes from an earlier checkpoint; one that comes sooner is the first request, which a launcher
 * has sent as well.
 * If its current step then takes longer than 0.3 s, a thread writes the marker, as mpirun kills its
 * ranks after a second, and ends the process another second later, even while it waits for a
 * device. In the verbs eval and predict SIGINT and SIGTERM end the process with an error; other
 * verbs do not catch these.
 *
 * The thread also ends a process whose folder belongs to a later start of the job (run_log_check),
 * even while it waits for lost ranks. */
#ifndef UNETCTL_TRAINER_RUN_SHUTDOWN_H
#define UNETCTL_TRAINER_RUN_SHUTDOWN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "trainer/run/run_log.h"

/* Numbers of signals, or 0; written by signal handlers, read by all threads. */
extern atomic_int shutdown_signal;  /* the signal that ends this process */
extern atomic_int shutdown_request; /* the signal that requests to end with a checkpoint */
extern atomic_int shutdown_any;     /* the later of both */

/* Installs the handlers. resumable: the process writes checkpoints. */
void shutdown_catch(bool resumable);

/* Starts the thread, which runs until shutdown_unwatch. r: NULL except on rank 0. If the thread
 * cannot be started, the marker is written only when the step ends. */
void shutdown_watch(struct run_log *r);
void shutdown_unwatch(void);

#endif
