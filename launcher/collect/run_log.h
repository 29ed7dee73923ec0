/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the log of an attempt, whose program may have called it what it likes. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RUN_LOG_H
#define UNETCTL_LAUNCHER_COLLECT_RUN_LOG_H

#include <limits.h>

#include "launcher/collect/log/log_form.h"
#include "launcher/study/study.h"
#include "src/err.h"

/* Returns what the study says of its logs; it points into s. */
struct log_form run_log_form(const struct study *s);

/* Writes the path of the attempt's log to dst: form->file in its folder; with a pattern and without
 * a file, the job's output; else log.csv, or the only file of a known form there or in a folder
 * below, or the job's output if it has MLPerf's lines. Returns 0, or -1 with ERR_DATA if there is
 * none, or with ERR_CONFIG if there are several. */
int run_log_find(const char *attempt_dir, const struct log_form *form, char dst[PATH_MAX],
                 struct err *e);

#endif
