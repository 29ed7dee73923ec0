/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart as SVG, within an HTML page or as a file of its own. Its light colours are attributes of
 * groups of the classes c0 to c14 (series), soft, ink and grid, so a page can replace them. */
#ifndef UNETCTL_LAUNCHER_REPORT_CHART_CHART_SVG_H
#define UNETCTL_LAUNCHER_REPORT_CHART_CHART_SVG_H

#include "launcher/report/chart/chart.h"
#include "src/buf.h"

/* The rules of lines, marks and texts; a page has them once for all its charts. */
extern const char chart_svg_style[];

/* Adds the chart for a page. Pointing at a value that is listed (chart_series_lists) shows it,
 * without any script. c has been fitted by chart_fit, and has points. */
void chart_svg_encode(const struct chart *c, struct buf *b);

/* Adds the chart as a file, as wide as a column of a paper (8.9 cm), light and without values to
 * point at. CHART_SVG_MARK is in its first 200 bytes. */
#define CHART_SVG_MARK "Made by unetctl report"
void chart_svg_encode_file(const struct chart *c, struct buf *b);

#endif
