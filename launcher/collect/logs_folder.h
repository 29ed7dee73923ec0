/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of logs to results: its results.csv where it has one (unetctl collect wrote it),
 * otherwise the names and contents of its logs.
 *
 * Of a bare folder the files log_N.csv, log_hvd_N.csv, log_ENGINE_N_sSEED.csv (log_name.h) are
 * read in any form that log_file.h knows, and MLLOG lines under any name when they say
 * number_of_ranks. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOGS_FOLDER_H
#define UNETCTL_LAUNCHER_COLLECT_LOGS_FOLDER_H

#include "launcher/collect/results/results.h"
#include "src/err.h"

/* A results.csv that was changed is believed only where its logs say the same: a row that
 * contradicts its log, names a run, a log, or a case and seed for the second time, or has a time or
 * quality that no run has, is corrupt.
 *
 * Fill table (empty before), sorted, with curves and scores. A log that can't be read is a corrupt
 * row with a note, and excluded; so are a table whose name has no count, one that is packed, and
 * logs that contradict each other (suspects.h). 0, or -1 with ERR_DATA when the folder
 * can't be read or has no log at all. */
int logs_folder_read(const char *dir, struct results *table, struct err *e);

#endif
