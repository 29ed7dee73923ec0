/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGTERM, SIGINT: the run ends after the step it is in, with exit code 128 + n and the marker
 * FAILED. Who sends them may not wait for that (mpirun kills after a second), so a thread writes
 * the marker when the step takes longer. */
#ifndef UNETCTL_TRAINER_SHUTDOWN_H
#define UNETCTL_TRAINER_SHUTDOWN_H

#include <signal.h>

#include "trainer/record.h"

/* The signal that asked the run to end, 0 so far. */
extern volatile sig_atomic_t shutdown_signal;

/* Install the handlers. */
void shutdown_catch(void);

/* Watch for r, until shutdown_unwatch. Without a thread the marker just comes later. */
void shutdown_watch(struct record *r);
void shutdown_unwatch(void);

#endif
