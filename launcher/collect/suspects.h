/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs that are whole, each by itself, but cannot all be what their names say:
 *   - different contents for one engine, settings, count and seed: none is used; of copies, one is;
 *   - copies under several seeds: one is used, because a copy is not a repeat;
 *   - copies under several counts or engines: none is used;
 *   - fewer epochs than another log of the engine, though training_time includes the missing ones:
 *     rows were cut off. */
#ifndef UNETCTL_LAUNCHER_COLLECT_SUSPECTS_H
#define UNETCTL_LAUNCHER_COLLECT_SUSPECTS_H

#include "launcher/collect/results/results.h"
#include "src/err.h"

/* table: sorted, its rows in state done with curves. Makes corrupt rows of suspects, with a note
 * that names the other log. -1 without memory. */
int suspects_discard(struct results *table, struct err *e);

/* The first kind only, for runs that have records beside their logs. Rows may lack curves. */
void suspects_discard_repeated(struct results *table);

#endif
