/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/markup/escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/text.h"

typedef const char *replace_f(char c, char scratch[8]);

/* Adds text. replace returns the replacement of an ASCII character, or NULL to keep it. */
static void add_escaped(struct buf *b, const char *text, replace_f *replace)
{
    char scratch[8];

    while (*text) {
        size_t n = utf8_size(text);
        const char *other = NULL;
        if (n == 0)
            other = "?";
        else if (control_size(text))
            other = " ";
        else if (n == 1 && replace)
            other = replace(*text, scratch);
        if (other)
            buf_add(b, other);
        else
            buf_add_bytes(b, text, n);
        text += n ? n : 1;
    }
}

static const char *replace_html(char c, char scratch[8])
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

static const char *replace_markdown(char c, char scratch[8])
{
    if (strchr("&<>", c))
        return replace_html(c, scratch);
    if (!strchr("\\`*_[]#|~$", c))
        return NULL;
    snprintf(scratch, 8, "\\%c", c);
    return scratch;
}

void escape_html(struct buf *b, const char *text)
{
    add_escaped(b, text, replace_html);
}

void escape_markdown(struct buf *b, const char *text)
{
    add_escaped(b, text, replace_markdown);
}

static const char *replace_latex(char c, char scratch[8])
{
    switch (c) {
    case '\\': return "\\textbackslash{}";
    case '^': return "\\textasciicircum{}";
    case '~': return "\\textasciitilde{}";
    case '<': return "\\textless{}";
    case '>': return "\\textgreater{}";
    case '|': return "\\textbar{}";
    case '"': return "\\textquotedbl{}";
    case '`': return "\\textasciigrave{}";
    default: break;
    }
    if (!strchr("{}$&#_%", c))
        return NULL;
    snprintf(scratch, 8, "\\%c", c);
    return scratch;
}

/* Returns the replacement of a "-" that stands between the characters `before` (NUL at the start)
 * and `after`: a minus sign before a number, a hyphen that LaTeX does not join to a dash beside
 * another "-", otherwise a hyphen. */
static const char *replace_minus(char before, char after)
{
    if (after >= '0' && after <= '9' && (before == '\0' || strchr(" .(", before)))
        return "$-$";
    return before == '-' || after == '-' ? "{-}" : "-";
}

void escape_latex(struct buf *b, const char *text)
{
    struct buf plain = {0};

    add_escaped(&plain, text, NULL);
    for (const char *p = plain.data ? plain.data : ""; *p;) {
        size_t n = utf8_size(p);
        char scratch[8];
        const char *other = n == 1 ? replace_latex(*p, scratch) : p[0] == '\xc3' ? NULL : "?";
        if (*p == '-')
            other = replace_minus(p == plain.data ? '\0' : p[-1], p[1]);
        if (other)
            buf_add(b, other);
        else
            buf_add_bytes(b, p, n);
        p += n;
    }
    b->failed |= plain.failed;
    buf_destroy(&plain);
}

void escape_plain(struct buf *b, const char *text)
{
    add_escaped(b, text, NULL);
}

void escape_format(struct buf *b, escape_f *escape, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vadd_escaped(b, escape, fmt, ap);
    va_end(ap);
}

void escape_lines(struct buf *b, escape_f *escape, const char *text, const char *before,
                  const char *behind)
{
    while (*text) {
        struct buf line = {0};
        size_t n = strcspn(text, "\n");
        buf_add_bytes(&line, text, n);
        buf_add(b, before);
        escape(b, line.data ? line.data : "");
        buf_add(b, behind);
        b->failed |= line.failed;
        buf_destroy(&line);
        text += n + (text[n] == '\n');
    }
}
