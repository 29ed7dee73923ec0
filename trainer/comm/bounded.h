/* SPDX-License-Identifier: BSD-3-Clause */
/* Deadlines for calls that have none, such as MPI_Init and MPI_Finalize. */
#ifndef UNETCTL_TRAINER_COMM_BOUNDED_H
#define UNETCTL_TRAINER_COMM_BOUNDED_H

#include <stdatomic.h>

/* Runs body in a thread of its own. Returns 0 if it returned *rc in time, 1 if it did not (the
 * thread keeps running), 128 + n if signal n asked the run to end, -1 if no thread could be
 * started. Only one call at a time. */
int bounded_call(int (*body)(void), double timeout_s, const atomic_int *interrupt, int *rc);

#endif
