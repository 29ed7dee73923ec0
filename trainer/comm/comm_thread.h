/* SPDX-License-Identifier: BSD-3-Clause */
/* Replicas as threads of one process (the mirrored strategy). In a sum each thread reduces its
 * share of the elements over ranks 0..N-1, in this order, between two barriers; in a sum_small of
 * few values each thread reduces all elements, in the same order. The result always has the same
 * bits. */
#ifndef UNETCTL_TRAINER_COMM_COMM_THREAD_H
#define UNETCTL_TRAINER_COMM_COMM_THREAD_H

#include "trainer/comm/comm.h"

struct comm_thread_group;

/* interrupt: as in struct comm; may be NULL. The caller destroys the group. */
struct comm_thread_group *comm_thread_create(int size, double timeout_s,
                                             const atomic_int *interrupt, struct err *e);
/* Called when no thread uses a member any more. */
void comm_thread_destroy(struct comm_thread_group *g);

/* Returns the communicator of one thread. The group owns it; its close does nothing. */
struct comm *comm_thread_member(struct comm_thread_group *g, int rank);

/* Fails with the first error of a thread of the group, if one has failed. Cheap enough to call
 * between collectives. */
int comm_thread_check(struct comm *c, struct err *e);

#endif
