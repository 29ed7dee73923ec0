/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart for gnuplot: NAME.dat with a block per series, and NAME.gp, which draws NAME.svg,
 * NAME.pdf and NAME.png from it. */
#ifndef UNETCTL_LAUNCHER_REPORT_CHART_CHART_GNUPLOT_H
#define UNETCTL_LAUNCHER_REPORT_CHART_CHART_GNUPLOT_H

#include "launcher/report/chart/chart.h"
#include "src/buf.h"
#include "src/err.h"

void chart_gnuplot_encode_data(const struct chart *c, struct buf *b);

/* c has been fitted by chart_fit. */
void chart_gnuplot_encode_script(const struct chart *c, struct buf *b);

/* Runs `gnuplot SCRIPT` in dir; gnuplot is found through PATH. Returns 0, or -1 with ERR_INTERNAL,
 * whose text says that gnuplot is not installed, or has the end of its output. */
#define CHART_GNUPLOT_LIMIT_S 120 /* time limit of a script, in seconds */
int chart_gnuplot_run(const char *dir, const char *script, struct err *e);

#endif
