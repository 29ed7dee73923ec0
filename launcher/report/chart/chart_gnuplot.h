/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart for gnuplot: NAME.dat with a block per series, and NAME.gp, which draws NAME.svg,
 * NAME.pdf and NAME.png from it. */
#ifndef UNETCTL_LAUNCHER_REPORT_CHART_CHART_GNUPLOT_H
#define UNETCTL_LAUNCHER_REPORT_CHART_CHART_GNUPLOT_H

#include "launcher/report/chart/chart.h"
#include "src/buf.h"

void chart_gnuplot_encode_data(const struct chart *c, struct buf *b);

/* c was fitted (chart_fit). */
void chart_gnuplot_encode_script(const struct chart *c, struct buf *b);

#endif
