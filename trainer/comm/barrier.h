/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers for parties that share memory, such as processes: no party passes
 * before all have arrived, and then each sees everything that the others wrote before.
 *
 * A waiting party sleeps. If each party has a core of its own, it polls for a while first, because
 * waking takes long; it then continues in less than a microsecond. If parties outnumber cores,
 * polling would only delay the others, and a core that is yielded (sched_yield) instead of released
 * may run another program for milliseconds. */
#ifndef UNETCTL_TRAINER_COMM_BARRIER_H
#define UNETCTL_TRAINER_COMM_BARRIER_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

/* Called about every 20 ms while a party sleeps, and after barrier_wake. waited_s: since the party
 * arrived. Returning -1 with an error ends the wait with it; the barrier must not be used after
 * that. */
typedef int (*barrier_check_f)(void *arg, double waited_s, struct err *e);

struct barrier_memory; /* the shared memory */

struct barrier {
    struct barrier_memory *memory;
    int rank, size;
    bool spins;            /* set by the caller: this thread has a core of its own */
    barrier_check_f check; /* set by the caller, as arg; may be NULL */
    void *arg;
};

/* Returns the size of the memory that the parties share, which must be zeroed and aligned to 64
 * bytes. */
size_t barrier_bytes(void);
void barrier_join(struct barrier *b, void *memory, int rank, int size);

int barrier_wait(struct barrier *b, struct err *e);

/* Makes all sleeping parties call their check now. */
void barrier_wake(struct barrier *b);

#endif
