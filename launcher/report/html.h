/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as one HTML page that needs nothing beside it and asks nobody for anything. */
#ifndef UNETCTL_LAUNCHER_REPORT_HTML_H
#define UNETCTL_LAUNCHER_REPORT_HTML_H

#include "launcher/report/figures.h"
#include "launcher/report/report.h"

/* Write path; the figures' SVG are read from figures_dir. 0 or -1. */
int html_write(const struct report *r, const struct figures *f, const char *figures_dir,
               const char *path, struct err *e);

#endif
