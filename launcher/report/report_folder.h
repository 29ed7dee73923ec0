/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder that `unetctl report` writes (doc/FORMATS.md lists its files). */
#ifndef UNETCTL_LAUNCHER_REPORT_REPORT_FOLDER_H
#define UNETCTL_LAUNCHER_REPORT_REPORT_FOLDER_H

#include "launcher/report/report.h"

/* Writes all files; dir is made if necessary. They are written into a hidden folder within dir
 * and moved when all are complete, so that an error before that leaves dir unchanged. An earlier
 * report in dir is replaced, and its figures are removed. Other files stay; if dir has no report,
 * a file in the way is ERR_CONFIG, and nothing changes. A missing rsvg-convert is a warning and not
 * an error. No link in dir is followed (files.h). Returns 0 or -1. */
int report_folder_write(const struct report *r, const char *dir, struct err *e);

/* Writes results.csv, and results_2.csv ... of further sources, into dir. Returns 0, or -1. */
int report_folder_write_results(const struct report *r, const char *dir, struct err *e);

#endif
