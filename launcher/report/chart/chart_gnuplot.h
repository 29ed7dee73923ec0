/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart for gnuplot: NAME.dat with a block per series, and NAME.gp, which draws NAME.svg,
 * NAME.pdf and NAME.png from it. */
#ifndef UNETCTL_LAUNCHER_REPORT_CHART_CHART_GNUPLOT_H
#define UNETCTL_LAUNCHER_REPORT_CHART_CHART_GNUPLOT_H

#include "launcher/report/chart/chart.h"
#include "src/buf.h"
#include "src/err.h"

void chart_gnuplot_encode_data(const struct chart *c, struct buf *b);

/* c was fitted (chart_fit). */
void chart_gnuplot_encode_script(const struct chart *c, struct buf *b);

/* Runs `gnuplot SCRIPT` in dir, found through PATH. 0, or -1 with ERR_INTERNAL: it is not
 * installed, or its last output. */
#define CHART_GNUPLOT_LIMIT_S 120 /* one script may take so long */
int chart_gnuplot_run(const char *dir, const char *script, struct err *e);

#endif
