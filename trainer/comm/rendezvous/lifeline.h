/* SPDX-License-Identifier: BSD-3-Clause */
/* Notices lost ranks: the connections of the rendezvous stay open for the whole run, and a thread
 * of each process watches them. A process that dies closes its connection; a rank that fails sends
 * its error; and when a collective does not end, rank 0 asks all ranks where they are, so that the
 * error names the rank that is stopped, slow or stuck.
 *
 * Rank 0 receives all messages and forwards errors to the other ranks. The first error counts. */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_LIFELINE_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_LIFELINE_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/comm/rendezvous/rendezvous.h"

struct lifeline;

/* Called once, by the thread, when the run cannot continue. */
typedef void (*lifeline_lost_f)(void *arg, const struct err *e);

/* Owns r, which is closed on error (NULL). hosts, by rank, must outlive it. lost may be NULL. */
struct lifeline *lifeline_open(struct rendezvous *r, const char *const *hosts, lifeline_lost_f lost,
                               void *arg, struct err *e);

/* This rank enters its next collective, which is the same on all ranks. */
void lifeline_count(struct lifeline *l);

/* -1 with the error when the run cannot continue; *relayed: another rank reports it. Cheap. */
int lifeline_check(struct lifeline *l, bool *relayed, struct err *e);

/* Finds out within some seconds why the current collective does not end. As lifeline_check; 0 when
 * no rank is behind. */
int lifeline_ask(struct lifeline *l, bool *relayed, struct err *e);

/* Sends this rank's error to rank 0, which forwards it. */
void lifeline_fail(struct lifeline *l, const struct err *e);

/* Leaves in order, so that no other rank reports a loss. NULL is fine. */
void lifeline_close(struct lifeline *l);

#endif
