/* SPDX-License-Identifier: BSD-3-Clause */
/* Running gnuplot. */
#ifndef UNETCTL_LAUNCHER_REPORT_CHART_GNUPLOT_H
#define UNETCTL_LAUNCHER_REPORT_CHART_GNUPLOT_H

#include "src/err.h"

#define GNUPLOT_LIMIT_S 120 /* one script may take so long */

/* Run `gnuplot SCRIPT` in dir, found through PATH. 0, or -1 with ERR_INTERNAL: not installed, or
 * what it said last. */
int gnuplot_run(const char *dir, const char *script, struct err *e);

#endif
