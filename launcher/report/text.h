/* SPDX-License-Identifier: BSD-3-Clause */
/* The report for a terminal: verdict, table, and a chart of characters. */
#ifndef UNETCTL_LAUNCHER_REPORT_TEXT_H
#define UNETCTL_LAUNCHER_REPORT_TEXT_H

#include <stdbool.h>

#include "launcher/report/report.h"
#include "src/buf.h"

/* What the terminal is like. */
struct text_form {
    int columns;
    bool utf8;   /* block characters may be used */
    bool colour; /* bold headlines */
};

/* Of stdout: COLUMNS, the terminal's width, or 80, within 40 to 160; UTF-8 by LC_ALL, LC_CTYPE or
 * LANG; colour on a terminal that is not dumb, unless NO_COLOR is set. */
struct text_form text_form_of_stdout(void);

/* Verdict and problems only, wrapped. */
void text_encode_verdict(const struct report *r, const struct text_form *form, struct buf *b);

/* Everything. */
void text_encode(const struct report *r, const struct text_form *form, struct buf *b);

/* The twelve rules: met or not, and why. */
void text_encode_rules(const struct report *r, const struct text_form *form, struct buf *b);

/* Add text, broken at blanks so that no line is longer than columns (a longer word stays whole);
 * further lines are indented by indent. */
void text_wrap(struct buf *b, const char *text, int indent, int columns);

#endif
