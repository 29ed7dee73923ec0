/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings that came from files, on their way into documents and scripts. In all of them control
 * characters become blanks and bytes that are no UTF-8 become '?'. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKUP_ESCAPE_H
#define UNETCTL_LAUNCHER_REPORT_MARKUP_ESCAPE_H

#include "src/buf.h"

/* As text or as a value between double quotes in HTML. */
void escape_html(struct buf *b, const char *text);

/* As text of Markdown, in a table too. */
void escape_markdown(struct buf *b, const char *text);

/* As text of LaTeX with T1 fonts. Letters that those have not become '?'. */
void escape_latex(struct buf *b, const char *text);

/* As a string of gnuplot, with its quotes: single ones, in which gnuplot substitutes nothing. An
 * apostrophe becomes a typographic one: gnuplot 5.4 takes a doubled one for the end of some
 * titles. The terminal must be set noenhanced. */
void escape_gnuplot(struct buf *b, const char *text);

/* As it is. */
void escape_plain(struct buf *b, const char *text);

#endif
