/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder that `unetctl report` leaves: report.html, report.md, report.json, figures/. */
#ifndef UNETCTL_LAUNCHER_REPORT_REPORT_FOLDER_H
#define UNETCTL_LAUNCHER_REPORT_REPORT_FOLDER_H

#include "launcher/report/report.h"

/* Write it all; dir is made if need be. A missing gnuplot is told as a warning, no error. 0 or -1. */
int report_folder_write(const struct report *r, const char *dir, struct err *e);

#endif
