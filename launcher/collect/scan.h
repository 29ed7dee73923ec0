/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of runs or logs to a table of results. */
#ifndef UNETCTL_LAUNCHER_COLLECT_SCAN_H
#define UNETCTL_LAUNCHER_COLLECT_SCAN_H

#include "launcher/collect/results/results.h"
#include "src/err.h"

/* Fills r (result_init has been called) from the entry of that name; without a name in r->run the
 * entry is nothing to count. Called for several entries at a time. */
typedef void scan_f(const void *arg, const char *name, struct result *r);

/* Appends a row to table for each entry of dir that is not hidden, by name. 0; -1 with ERR_DATA
 * when dir can't be read. */
int scan_folder(struct results *table, const char *dir, scan_f *read, const void *arg,
                struct err *e);

#endif
