/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is still there: the connections of the rendezvous stay open for the whole run, and a thread
 * of each process listens to them. A process that dies closes its connection, wherever it was; a
 * rank that fails says why; and when a collective does not end, rank 0 asks all ranks where they
 * are, so that the text names the one that is stopped, slow or stuck.
 *
 * Rank 0 hears all ranks and tells the others. The first word counts. */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_LIFELINE_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_LIFELINE_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/comm/rendezvous/rendezvous.h"

struct lifeline;

/* Called once, from the thread, when the run can't go on. */
typedef void (*lifeline_lost_f)(void *arg, const struct err *e);

/* Takes over r's connections, r too. hosts (by rank) must live as long. lost may be NULL. NULL on
 * error; r is closed then. */
struct lifeline *lifeline_open(struct rendezvous *r, const char *const *hosts, lifeline_lost_f lost,
                               void *arg, struct err *e);

/* This rank enters its next collective; all enter the same ones. */
void lifeline_count(struct lifeline *l);

/* Can't the run go on? Then -1 with the reason, *relayed: another rank tells it. Cheap. */
int lifeline_check(struct lifeline *l, bool *relayed, struct err *e);

/* The collective that this rank is in does not end: why? Asks for some seconds. As lifeline_check;
 * 0: nobody is behind. */
int lifeline_ask(struct lifeline *l, bool *relayed, struct err *e);

/* This rank has failed with e: rank 0 hears it, and by it the others. */
void lifeline_tell(struct lifeline *l, const struct err *e);

/* In order: no other rank takes it for a loss. NULL is fine. */
void lifeline_close(struct lifeline *l);

#endif
