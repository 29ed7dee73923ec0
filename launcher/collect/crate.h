/* SPDX-License-Identifier: BSD-3-Clause */
/* A study as a Research Object Crate (RO-Crate 1.1, Process Run Crate 0.5), to be deposited:
 * STUDY/ro-crate-metadata.json says what its files are, which runs made them, from what, with which
 * software, and whose work it is. It has only what the study's files record. */
#ifndef UNETCTL_LAUNCHER_COLLECT_CRATE_H
#define UNETCTL_LAUNCHER_COLLECT_CRATE_H

#include "launcher/collect/results/results.h"
#include "launcher/study/workspace.h"
#include "src/err.h"

/* Writes the file for the runs of table that are done or failed; others are reported. People and
 * licence are those of CITATION.cff in the study's folder; without one the author is git's
 * user.name. Returns 0, or -1: with ERR_DATA if no run is done or split.json is damaged, with
 * ERR_CONFIG for an invalid CITATION.cff or a file of another program, with ERR_INTERNAL if the
 * file cannot be written. */
int crate_write(const struct workspace *w, const struct results *table, struct err *e);

#endif
