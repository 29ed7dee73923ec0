/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that know no deadline, such as MPI_Init and MPI_Finalize. */
#ifndef UNETCTL_TRAINER_COMM_BOUNDED_H
#define UNETCTL_TRAINER_COMM_BOUNDED_H

#include <stdatomic.h>

/* Runs body in a thread of its own. 0: it has returned in time, with *rc; 1: it has not, and its
 * thread goes on; 128 + n: signal n asked to end; -1: no thread could be started. One at a time. */
int bounded_call(int (*body)(void), double timeout_s, const atomic_int *interrupt, int *rc);

#endif
