/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls functions without a deadline of their own, such as MPI_Init and MPI_Finalize, with one. */
#ifndef UNETCTL_TRAINER_COMM_BOUNDED_H
#define UNETCTL_TRAINER_COMM_BOUNDED_H

#include <stdatomic.h>

/* Runs body in a thread. Returns 0 if it returned *rc in time, 1 if it did not (the thread keeps
 * running), 128 + n if signal n asked the run to end, or -1 if no thread could be started. Only one
 * call at a time. */
int bounded_call(int (*body)(void), double timeout_s, const atomic_int *interrupt, int *rc);

#endif
