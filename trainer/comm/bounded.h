/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls functions without a deadline of their own, such as MPI_Init and MPI_Finalize, with one. */
#ifndef UNETCTL_TRAINER_COMM_BOUNDED_H
#define UNETCTL_TRAINER_COMM_BOUNDED_H

#include <stdatomic.h>

/* Runs body in a thread. Returns 0 with the result of body in *rc, 1 if body has not returned
 * within timeout_s, 128 + n if *interrupt became n, the number of a signal, or -1 if no thread
 * could be started. After 1 and 128 + n the thread keeps running. interrupt may be NULL. Only one
 * call at a time, and none while such a thread runs. */
int bounded_call(int (*body)(void), double timeout_s, const atomic_int *interrupt, int *rc);

#endif
