/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a folder of logs. If it has a results.csv, which unetctl collect writes, that lists the
 * runs; otherwise the names and contents of the logs do.
 *
 * Without results.csv, files named log_N.csv, log_hvd_N.csv or log_ENGINE_N_sSEED.csv (log_name.h)
 * are read in any form that log_file.h knows, and files of any other name if they have MLLOG lines
 * with number_of_ranks. Names may end in .log, .txt, .json, .jsonl or .tfevents, too. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOGS_FOLDER_H
#define UNETCTL_LAUNCHER_COLLECT_LOGS_FOLDER_H

#include "launcher/collect/log/log_form.h"
#include "launcher/collect/results/results.h"
#include "src/err.h"

/* Fills table, which is empty, with sorted rows, curves and scores. Returns 0, or -1 with ERR_DATA
 * if the folder or its results.csv cannot be read, or if there is no log; table is then empty.
 *
 * A results.csv may have been edited, so it is compared with those of its logs that exist: a done
 * row becomes corrupt if its log is invalid or contradicts it, if its scores are invalid, if it has
 * the run or the log of an earlier row, the engine, settings, number of GPUs and seed of another
 * row (of copies, one remains), or a time or quality that no run can have.
 *
 * Without results.csv, a log that is invalid becomes a corrupt row with a note. So do one with
 * invalid scores, and logs that contradict each other (suspects.h). Rows are unread of a log whose
 * form is not known (form, which may be NULL, can say more), of a log, or any .csv file but
 * images_*, of which neither the name nor the lines give the number of GPUs, and of a log that is
 * compressed or whose name ends in .CSV. */
int logs_folder_read(const char *dir, const struct log_form *form, struct results *table,
                     struct err *e);

#endif
