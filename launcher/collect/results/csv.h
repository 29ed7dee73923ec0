/* SPDX-License-Identifier: BSD-3-Clause */
/* One line of CSV as RFC 4180 has it: cells between commas, quoted when they hold commas or quotes.
 * A cell never holds a line end: what is written has control characters turned into blanks. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_CSV_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_CSV_H

#include "src/buf.h"

/* Split line (no line end) in place; cells[0..max) point into it. The number of cells, or -1 when a
 * quote is not closed, something follows a closed one, or there are more than max cells. */
int csv_split(char *line, char **cells, int max);

/* Add one cell, quoted where needed. */
void csv_add_cell(struct buf *b, const char *text);

#endif
