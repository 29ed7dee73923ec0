/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds logs that are valid by themselves but cannot all be what their names say (count: the number
 * of GPUs):
 *
 *   - different contents for one engine, settings, count and seed: none is used; of copies, one is;
 *   - copies under several seeds: one is used, because a copy is not a repetition;
 *   - copies under several counts, engines or settings: none is used;
 *   - fewer epochs than another log of the engine, though training_time includes the missing ones:
 *     rows were cut off. */
#ifndef UNETCTL_LAUNCHER_COLLECT_SUSPECTS_H
#define UNETCTL_LAUNCHER_COLLECT_SUSPECTS_H

#include "launcher/collect/results/results.h"
#include "src/err.h"

/* Makes suspicious rows corrupt, with a note that names the other log. table is sorted, and its
 * done rows have curves. Returns 0, or -1 if memory ran out. */
int suspects_discard(struct results *table, struct err *e);

/* Finds runs of a study that differ only in their seed and have equal scores, and equal times,
 * which by the digits and the scatter of the times is a chance of less than one in a million. All
 * but the first are marked as copied and get a note. table is sorted. */
void suspects_mark_copied(struct results *table);

/* Finds only the first kind, for runs that have records besides their logs, and rows of steps whose
 * work is unknown though that of others of their engine is: these become unread. table is sorted;
 * rows may lack curves. */
void suspects_discard_repeated(struct results *table);

#endif
