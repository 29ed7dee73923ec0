/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of CSV by RFC 4180: cells between commas, in quotes if they contain commas or quotes. A
 * text in a cell cannot give orders: the characters of src/control.h are written as blanks, so a
 * cell never contains a line end, and a text that a spreadsheet would compute as a formula is
 * written with an apostrophe before it, which csv_text removes. */
#ifndef UNETCTL_SRC_TEXT_CSV_H
#define UNETCTL_SRC_TEXT_CSV_H

#include "src/buf.h"

/* Splits line (without line end) in place at separators; cells[0..max) point into it. Returns
 * the number of cells, or -1 if a quote is not closed, text follows a closed quote, or there are
 * more than max cells. */
int csv_split(char *line, char separator, char **cells, int max);

/* Returns the text in a cell of csv_add_cell: cell, or what follows its apostrophe. */
const char *csv_text(const char *cell);

/* Adds a cell with this text. The caller adds the commas between cells, and cells of numbers. */
void csv_add_cell(struct buf *b, const char *text);

#endif
