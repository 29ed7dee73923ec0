/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as one self-contained HTML page, without scripts and requests. */
#ifndef UNETCTL_LAUNCHER_REPORT_HTML_H
#define UNETCTL_LAUNCHER_REPORT_HTML_H

#include "launcher/report/figures.h"
#include "launcher/report/report.h"

#define HTML_MAX_RUNS 1000 /* longer lists of runs are cut in the page; results.csv has them all */

/* malloc'ed; NULL without memory. */
char *html_encode(const struct report *r, const struct figures *f);

#endif
