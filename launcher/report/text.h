/* SPDX-License-Identifier: BSD-3-Clause */
/* The report for a terminal: the verdict, tables, and charts made of characters. */
#ifndef UNETCTL_LAUNCHER_REPORT_TEXT_H
#define UNETCTL_LAUNCHER_REPORT_TEXT_H

#include <stdbool.h>

#include "launcher/report/report.h"
#include "src/buf.h"

/* The properties of the terminal. */
struct text_form {
    int columns;
    bool utf8;   /* block characters may be used */
    bool colour; /* headlines are bold */
};

/* Returns the form for stdout. The width is the first known of COLUMNS, the terminal's width and
 * 80, limited to 40 to 160. UTF-8 follows the first set of LC_ALL, LC_CTYPE and LANG. Colour is
 * used on a terminal whose TERM is set and not dumb, unless NO_COLOR is set and not empty. */
struct text_form text_form_of_stdout(void);

/* Adds the verdict of each series, the rule, the differences between series and the problems,
 * wrapped. */
void text_encode_verdict(const struct report *r, const struct text_form *form, struct buf *b);

/* Adds what text_encode_verdict does, then for each series the short table, the chart (with two
 * counts or more) and the settings. */
void text_encode(const struct report *r, const struct text_form *form, struct buf *b);

/* Adds the twelve rules: whether each is met, and why. */
void text_encode_rules(const struct report *r, const struct text_form *form, struct buf *b);

/* Adds the methods paragraph of each series (paragraph.h). */
void text_encode_paragraphs(const struct report *r, const struct text_form *form, struct buf *b);

/* Adds text and a newline, broken at blanks so that lines have at most `columns` characters, except
 * for a longer word. All lines but the first are indented by `indent`. */
void text_wrap(struct buf *b, const char *text, int indent, int columns);

#endif
