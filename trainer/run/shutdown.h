/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that end a run.
 *
 * SIGTERM, SIGUSR1 and a first SIGINT ask a training to finish its step, write a checkpoint and
 * leave without a marker, to be continued; with SIGINT its exit code is 130. A second SIGINT ends
 * it at once, with the marker FAILED: a thread writes that when the step takes longer (mpirun kills
 * after a second), and a second later ends the process. Elsewhere SIGINT and SIGTERM end the
 * process in order.
 *
 * The same thread ends, as a second SIGINT does, a process whose folder a later start has taken
 * over (record_check), even while it waits for ranks that are gone. */
#ifndef UNETCTL_TRAINER_RUN_SHUTDOWN_H
#define UNETCTL_TRAINER_RUN_SHUTDOWN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "trainer/run/record.h"

/* Written by a handler in whichever thread it runs, read by all. */
extern atomic_int shutdown_signal;  /* that ends this process, 0 so far */
extern atomic_int shutdown_request; /* that asks it to leave with a checkpoint */
extern atomic_int shutdown_any;     /* the last of both */

/* Install the handlers. resumable: there will be a checkpoint to go on from. */
void shutdown_catch(bool resumable);

/* Watch for r, until shutdown_unwatch. Without a thread the marker just comes later. */
void shutdown_watch(struct record *r);
void shutdown_unwatch(void);

#endif
