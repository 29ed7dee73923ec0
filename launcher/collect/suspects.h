/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs that are whole, each by itself, but can't all be what their names say:
 *   several of one engine, settings, count and seed with different contents: none is taken; of
 * copies one is, copies under other seeds: one is taken, for a copy is no repeat, copies under
 * another count or engine: none is taken, a log with fewer epochs than another of its engine, where
 * the time of those that miss is in its training_time: rows were cut off. */
#ifndef UNETCTL_LAUNCHER_COLLECT_SUSPECTS_H
#define UNETCTL_LAUNCHER_COLLECT_SUSPECTS_H

#include "launcher/collect/results.h"
#include "src/err.h"

/* table: sorted, its rows in state done with curves. Makes corrupt rows of suspects, with a note
 * that names the other log. -1 without memory. */
int suspects_discard(struct results *table, struct err *e);

/* The first kind only, for runs of which more is known than their logs tell. Rows may lack curves.
 */
void suspects_discard_repeated(struct results *table);

#endif
