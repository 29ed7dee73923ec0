/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the report for LaTeX, to be \input into a paper. */
#ifndef UNETCTL_LAUNCHER_REPORT_LATEX_H
#define UNETCTL_LAUNCHER_REPORT_LATEX_H

#include "launcher/report/report.h"

/* Write path. 0 or -1. */
int latex_write(const struct report *r, const char *path, struct err *e);

#endif
