/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a folder of runs or logs into a table of results, with several threads if it has many. */
#ifndef UNETCTL_LAUNCHER_COLLECT_SCAN_H
#define UNETCTL_LAUNCHER_COLLECT_SCAN_H

#include "launcher/collect/results/results.h"

/* Fills r, which result_init has initialised, from the entry called name. An entry that leaves
 * r->run empty is skipped. Called from several threads. */
typedef void scan_f(const void *arg, const char *name, struct result *r);

/* Appends a row to table for each entry of dir that is not hidden or skipped, sorted by name.
 * Returns 0, or -1 if memory ran out, or with ERR_DATA if dir cannot be read. */
int scan_folder(struct results *table, const char *dir, scan_f *read, const void *arg,
                struct err *e);

#endif
