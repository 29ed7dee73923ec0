/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that end a run.
 *
 * SIGTERM, SIGUSR1 and a first SIGINT ask a training to finish its step, write a checkpoint and
 * leave without a marker, so that it can continue; after SIGINT the exit code is 130. A second
 * SIGINT ends it at once with the marker FAILED: a thread writes that when the step takes longer,
 * as mpirun kills after a second, and ends the process a second later. In other verbs SIGINT and
 * SIGTERM end the process in order.
 *
 * The thread also ends a process whose folder belongs to a later start (record_check), even while
 * it waits for lost ranks. */
#ifndef UNETCTL_TRAINER_RUN_SHUTDOWN_H
#define UNETCTL_TRAINER_RUN_SHUTDOWN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "trainer/run/record.h"

/* Written by signal handlers, read by all threads. */
extern atomic_int shutdown_signal;  /* that ends this process, or 0 */
extern atomic_int shutdown_request; /* that asks it to leave with a checkpoint, or 0 */
extern atomic_int shutdown_any;     /* the later of both */

/* Installs the handlers. resumable: the process writes checkpoints. */
void shutdown_catch(bool resumable);

/* Starts the thread for r, until shutdown_unwatch. Without a thread the marker is written later. */
void shutdown_watch(struct record *r);
void shutdown_unwatch(void);

#endif
