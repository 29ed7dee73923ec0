/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart as SVG inside of an HTML page. Colours, lines and marks are classes that page_style.c
 * defines, for light and dark pages. Pointing at a value shows it, without any script. */
#ifndef UNETCTL_LAUNCHER_REPORT_CHART_CHART_SVG_H
#define UNETCTL_LAUNCHER_REPORT_CHART_CHART_SVG_H

#include "launcher/report/chart/chart.h"
#include "src/buf.h"

/* c was fitted (chart_fit) and has points. */
void chart_svg_encode(const struct chart *c, struct buf *b);

/* What the series are, as a list beside the drawing. */
void chart_svg_encode_key(const struct chart *c, struct buf *b);

#endif
