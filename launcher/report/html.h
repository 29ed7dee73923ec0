/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as one self-contained HTML page without scripts or requests. */
#ifndef UNETCTL_LAUNCHER_REPORT_HTML_H
#define UNETCTL_LAUNCHER_REPORT_HTML_H

#include "launcher/report/figures.h"
#include "launcher/report/report.h"

#define HTML_MAX_RUNS 1000 /* a longer list of runs is cut in the page; results.csv has all */

/* Returns the page, which the caller frees, or NULL if memory ran out. */
char *html_encode(const struct report *r, const struct figures *f);

/* Parts of such a page: its head up to its first heading, "TITLE: HEADING", with further elements of
 * the head (more); a tile of a list of numbers; a figure with its caption and values, which are
 * folded if it stands at the top. */
void html_add_head(struct buf *b, const char *more, const char *title, const char *topic,
                   const char *heading);
void html_add_tile(struct buf *b, const char *name, const char *value, const char *more);
void html_add_figure(struct buf *b, const struct chart *c, bool folded);

#endif
