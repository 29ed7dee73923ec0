/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart as SVG within an HTML page. Colours, lines and marks are classes of page_style.c, for
 * light and dark pages. Pointing at a value that is listed (chart_series_lists) shows it, without
 * any script. */
#ifndef UNETCTL_LAUNCHER_REPORT_CHART_CHART_SVG_H
#define UNETCTL_LAUNCHER_REPORT_CHART_CHART_SVG_H

#include "launcher/report/chart/chart.h"
#include "src/buf.h"

/* c has been fitted by chart_fit, and has points. */
void chart_svg_encode(const struct chart *c, struct buf *b);

/* Adds the key: a list of the series, beside the drawing. */
void chart_svg_encode_key(const struct chart *c, struct buf *b);

#endif
