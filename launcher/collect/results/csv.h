/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of CSV by RFC 4180: cells between commas, in quotes if they contain commas or quotes. A
 * cell never contains a line end: control characters are written as blanks. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_CSV_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_CSV_H

#include "src/buf.h"

/* Splits line (without line end) in place at separators; cells[0..max) point into it. Returns
 * the number of cells, or -1 if a quote is not closed, text follows a closed quote, or there are
 * more than max cells. */
int csv_split(char *line, char separator, char **cells, int max);

/* Adds one cell, in quotes if it has commas or quotes; control characters become blanks. The caller
 * adds the commas between cells. */
void csv_add_cell(struct buf *b, const char *text);

#endif
