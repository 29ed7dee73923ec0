/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder that `unetctl report` leaves (doc/FORMATS.md has the list of its files). */
#ifndef UNETCTL_LAUNCHER_REPORT_REPORT_FOLDER_H
#define UNETCTL_LAUNCHER_REPORT_REPORT_FOLDER_H

#include "launcher/report/report.h"

/* Write it all; dir is made if need be. Everything is written into a hidden folder inside of dir
 * first and moved in place when it is complete: after an error dir is as it was. Figures of an
 * earlier report are removed, files of other origin stay: one in the way is ERR_CONFIG, and nothing
 * changes. A missing gnuplot is a warning, not an error. 0 or -1. */
int report_folder_write(const struct report *r, const char *dir, struct err *e);

#endif
