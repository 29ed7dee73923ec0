/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs as MLPerf logging lines (":::MLLOG {...}"), a file per run as its tools want them. time_ms
 * counts from the start of the run's first epoch: results carry no date. */
#ifndef UNETCTL_LAUNCHER_REPORT_MLLOG_H
#define UNETCTL_LAUNCHER_REPORT_MLLOG_H

#include "launcher/collect/results/results.h"
#include "src/buf.h"

/* The lines of one good run whose epochs are known. */
void mllog_encode(const struct result *r, struct buf *b);

/* dir/RUN.log of every such run; dir is made if need be. Characters of a run's name that a file
 * should not have become '_'. 0 or -1. */
int mllog_write(const struct results *results, const char *dir, struct err *e);

#endif
