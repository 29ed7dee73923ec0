/* SPDX-License-Identifier: BSD-3-Clause */
/* Meetings of parties that share memory, threads of a process or processes: nobody gets past one
 * before everybody has come to it, and then sees all that the others wrote before they came.
 *
 * Who waits sleeps. Where each party has a core of its own it looks for a while first, because
 * waking takes long, and then goes on in less than a microsecond. Where parties outnumber cores
 * looking would only keep the others from coming; and a core that is offered (sched_yield) instead
 * of left goes to whatever else wants it for milliseconds. */
#ifndef UNETCTL_TRAINER_COMM_MEETING_H
#define UNETCTL_TRAINER_COMM_MEETING_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

/* Called while a party waits, from the moment it sleeps, many times a second; -1 with an error ends
 * the wait, and with it the use of the meeting. */
typedef int (*meeting_check_f)(void *arg, double waited_s, struct err *e);

struct meeting_room; /* what all parties see */

struct meeting {
    struct meeting_room *room;
    int rank, size;
    bool spins; /* this thread's core is nobody else's */
    meeting_check_f check; /* NULL: none */
    void *arg;
};

/* The memory that the parties share: aligned to a page or to 64 bytes, zeros at first. */
size_t meeting_bytes(int size);
void meeting_enter(struct meeting *m, void *memory, int rank, int size);

int meeting_hold(struct meeting *m, struct err *e);

/* All that sleep in it call their check now. */
void meeting_disturb(struct meeting *m);

int meeting_count_arrived(const struct meeting *m); /* at the meeting that is under way */

/* A party that has not come to the meeting which this one waits in; -1: none. */
int meeting_find_absent(const struct meeting *m);

#endif
