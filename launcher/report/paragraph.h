/* SPDX-License-Identifier: BSD-3-Clause */
/* A methods paragraph about a series, as a paper needs it, with its numbers: what was trained on
 * what, the base case in absolute numbers, speed-up, quality and their intervals. */
#ifndef UNETCTL_LAUNCHER_REPORT_PARAGRAPH_H
#define UNETCTL_LAUNCHER_REPORT_PARAGRAPH_H

#include "launcher/report/report.h"
#include "src/buf.h"

/* Adds the paragraph, one sentence per line. What the logs do not have is left out. */
void paragraph_describe(struct buf *b, const struct report_series *rs);

#endif
