/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as one self-contained HTML page without scripts or requests. */
#ifndef UNETCTL_LAUNCHER_REPORT_HTML_H
#define UNETCTL_LAUNCHER_REPORT_HTML_H

#include "launcher/report/figures.h"
#include "launcher/report/report.h"

#define HTML_MAX_RUNS 1000 /* a longer list of runs is cut in the page; results.csv has all */

/* Returns the page, which the caller frees, or NULL if memory ran out. */
char *html_encode(const struct report *r, const struct figures *f);

#endif
