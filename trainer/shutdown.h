/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that end a run.
 *
 * SIGINT: after the step it is in, with exit code 130 and the marker FAILED. Who sends it may not
 * wait for that (mpirun kills after a second), so a thread writes the marker when the step takes
 * longer. SIGTERM and SIGUSR1 ask a training to finish its step, write a checkpoint and leave
 * without a marker, to be continued; elsewhere SIGTERM is as SIGINT.
 *
 * The same thread ends, as SIGINT does, a process whose folder a later start has taken over
 * (record_check), even while it waits for ranks that are gone. */
#ifndef UNETCTL_TRAINER_SHUTDOWN_H
#define UNETCTL_TRAINER_SHUTDOWN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "trainer/record.h"

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
