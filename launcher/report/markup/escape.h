/* SPDX-License-Identifier: BSD-3-Clause */
/* Escapes strings from files for documents. The characters of src/text.h always
 * become blanks, and bytes that are not UTF-8 '?'. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKUP_ESCAPE_H
#define UNETCTL_LAUNCHER_REPORT_MARKUP_ESCAPE_H

#include "src/buf.h"

typedef void escape_f(struct buf *b, const char *text);

/* For HTML: text, and values between double quotes. */
escape_f escape_html;

/* For Markdown: text, also in a table. */
escape_f escape_markdown;

/* For LaTeX: text with T1 fonts. Beside ASCII, only the letters and signs from U+00C0 to U+00FF are
 * kept; other characters become '?'. */
escape_f escape_latex;

/* For plain text. */
escape_f escape_plain;

/* Adds fmt with each "%s" replaced by the next argument, escaped. Other conversions are not
 * supported. */
void escape_format(struct buf *b, escape_f *escape, const char *fmt, ...);

/* Adds each line of text, escaped and without its newline, with `before` in front of it and
 * `behind` after it. */
void escape_lines(struct buf *b, escape_f *escape, const char *text, const char *before,
                  const char *behind);

#endif
