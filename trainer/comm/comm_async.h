/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread of a communicator that sums in the background: slices that are added are summed in
 * their order while the rank computes. Every rank adds the same slices in the same order. */
#ifndef UNETCTL_TRAINER_COMM_COMM_ASYNC_H
#define UNETCTL_TRAINER_COMM_COMM_ASYNC_H

#include "trainer/comm/comm.h"

struct comm_async;

/* Sums a slice over all ranks; called by the thread. It has a deadline. */
typedef int (*comm_async_f)(struct comm *c, const struct slice *s, struct err *e);

/* Starts the thread. Returns NULL on error. */
struct comm_async *comm_async_open(struct comm *c, comm_async_f sum, struct err *e);

int comm_async_add(struct comm_async *a, struct slice s, struct err *e);

/* Waits until all slices are summed, and sets c->spans. After an error of a sum, every call fails
 * with it. */
int comm_async_wait(struct comm_async *a, struct err *e);

/* Ends the thread and frees a, which may be NULL. Slices that are still queued are not summed. now:
 * a sum in flight is interrupted as if by a signal. */
void comm_async_close(struct comm_async *a, bool now);

#endif
