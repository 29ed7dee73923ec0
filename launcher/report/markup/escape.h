/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings from files, escaped for documents and scripts. In all of them control characters become
 * blanks and bytes that are not UTF-8 become '?'. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKUP_ESCAPE_H
#define UNETCTL_LAUNCHER_REPORT_MARKUP_ESCAPE_H

#include "src/buf.h"

typedef void escape_f(struct buf *b, const char *text);

/* For text and for values between double quotes in HTML. */
escape_f escape_html;

/* For text of Markdown, in a table too. */
escape_f escape_markdown;

/* For text of LaTeX with T1 fonts. Letters that those lack become '?'. */
escape_f escape_latex;

/* Adds a string of gnuplot with its quotes: single ones, in which gnuplot substitutes nothing. An
 * apostrophe becomes a typographic one: gnuplot 5.4 takes a doubled one for the end of some
 * titles. The terminal must be set noenhanced. */
escape_f escape_gnuplot;

/* For plain text. */
escape_f escape_plain;

/* Adds fmt with each "%s" replaced by the next argument, escaped. No other conversion. */
void escape_format(struct buf *b, escape_f *escape, const char *fmt, ...);

/* Adds each line of text, escaped, between before and behind. */
void escape_lines(struct buf *b, escape_f *escape, const char *text, const char *before,
                  const char *behind);

#endif
