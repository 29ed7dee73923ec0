/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of collected logs to results: its results.csv where it has one, otherwise what the names
 * and rows of log_N.csv, log_hvd_N.csv tell (the reference systems' folders). */
#ifndef UNETCTL_LAUNCHER_REPORT_LOGS_FOLDER_H
#define UNETCTL_LAUNCHER_REPORT_LOGS_FOLDER_H

#include "launcher/collect/results.h"
#include "src/err.h"

/* Fill table (empty before), sorted. A log that can't be read is a corrupt row with a note. 0, or
 * -1 with ERR_DATA when the folder can't be read or has no log at all. */
int logs_folder_read(const char *dir, struct results *table, struct err *e);

#endif
