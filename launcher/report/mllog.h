/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs as MLPerf logging lines (":::MLLOG {...}"), one file per run as MLPerf's tools expect.
 * time_ms counts from the start of the run's first epoch, since results have no date. */
#ifndef UNETCTL_LAUNCHER_REPORT_MLLOG_H
#define UNETCTL_LAUNCHER_REPORT_MLLOG_H

#include "launcher/collect/results/results.h"

/* Writes dir/RUN.log for each good run whose epochs are known, and makes dir if necessary. In RUN,
 * characters that file names should not have become '_', and then "-" and the index of the row are
 * appended. Returns 0 or -1. */
int mllog_write(const struct results *results, const char *dir, struct err *e);

#endif
