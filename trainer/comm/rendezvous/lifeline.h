/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects lost ranks: the connections of the rendezvous stay open for the whole run, and a thread
 * of each process watches them. A process that dies closes its connection, and a rank that fails
 * sends its error. If a collective does not end, rank 0 asks all ranks which collective they are
 * in, so that the error names the rank that is stopped, slow or stuck. A message that the channel
 * of the rendezvous does not open ends the run.
 *
 * Rank 0 receives all messages and forwards errors to the other ranks. The first error is kept. */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_LIFELINE_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_LIFELINE_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/comm/rendezvous/rendezvous.h"

struct lifeline;

/* Called at most once, by the thread, when the run cannot continue. host: of a rank that is gone or
 * does not answer; NULL if the error has another cause. */
typedef void (*lifeline_lost_f)(void *arg, const char *host, const struct err *e);

/* Owns r, which is closed on error (NULL). hosts, by rank, must outlive the result. lost may be
 * NULL. */
struct lifeline *lifeline_open(struct rendezvous *r, const char *const *hosts, lifeline_lost_f lost,
                               void *arg, struct err *e);

/* Counts collectives: called when this rank enters its next collective. All ranks enter the same
 * ones. */
void lifeline_count(struct lifeline *l);

/* Returns 0, or -1 with the error if the run cannot continue, and with *relayed, whether another
 * rank reports that error. Cheap. */
int lifeline_check(struct lifeline *l, bool *relayed, struct err *e);

/* Determines within some seconds why the current collective does not end. Returns as
 * lifeline_check; 0 if no rank is behind. */
int lifeline_ask(struct lifeline *l, bool *relayed, struct err *e);

/* Sends this rank's error to rank 0, which forwards it; rank 0 sends its own to all ranks. */
void lifeline_fail(struct lifeline *l, const struct err *e);

/* Leaves normally, so that no other rank reports a loss. NULL is allowed. */
void lifeline_close(struct lifeline *l);

#endif
