/* SPDX-License-Identifier: BSD-3-Clause */
/* Replicas as threads of one process (the mirrored strategy). A collective is two meetings of all
 * threads with the work between them, or one if there are few values: every thread reduces its
 * share of the elements over ranks 0..N-1, always in this order, so the result has the same bits
 * every time. */
#ifndef UNETCTL_TRAINER_COMM_COMM_THREAD_H
#define UNETCTL_TRAINER_COMM_COMM_THREAD_H

#include "trainer/comm/comm.h"

struct comm_thread_group;

/* interrupt as in struct comm; may be NULL. */
struct comm_thread_group *comm_thread_create(int size, double timeout_s,
                                             const atomic_int *interrupt, struct err *e);
/* Only when no thread uses a member any more. */
void comm_thread_destroy(struct comm_thread_group *g);

/* The communicator of one thread; lives as long as the group, its close does nothing. */
struct comm *comm_thread_member(struct comm_thread_group *g, int rank);

/* Has another thread failed? Then -1 with its error. Cheap; between collectives. */
int comm_thread_check(struct comm *c, struct err *e);

#endif
