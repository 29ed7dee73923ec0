/* SPDX-License-Identifier: BSD-3-Clause */
/* One line of CSV as in RFC 4180: cells between commas, quoted when they hold commas or quotes. A
 * cell never holds a line end: control characters are written as blanks. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_CSV_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_CSV_H

#include "src/buf.h"

/* Splits line (no line end) in place at separators; cells[0..max) point into it. Returns the number
 * of cells, or -1 when a quote is not closed, something follows a closed one, or there are more
 * than max cells. */
int csv_split(char *line, char separator, char **cells, int max);

/* Adds one cell, quoted where needed. */
void csv_add_cell(struct buf *b, const char *text);

#endif
