/* SPDX-License-Identifier: BSD-3-Clause */
/* The report for a terminal of 80 columns: verdict, table, and a chart of characters. */
#ifndef UNETCTL_LAUNCHER_REPORT_TEXT_H
#define UNETCTL_LAUNCHER_REPORT_TEXT_H

#include "launcher/report/report.h"
#include "src/buf.h"

#define TEXT_COLUMNS 80

/* Verdict and problems only, wrapped. */
void text_encode_verdict(const struct report *r, struct buf *b);

/* Everything. */
void text_encode(const struct report *r, struct buf *b);

/* Add text, broken at blanks so that no line is longer than TEXT_COLUMNS (a longer word stays
 * whole); further lines are indented by indent. */
void text_wrap(struct buf *b, const char *text, int indent);

#endif
