/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/text/csv.h"

#include <stdbool.h>
#include <string.h>

#include "src/control.h"

/* Reads the quoted cell whose text starts at *p, after the opening quote: turns doubled quotes into
 * single ones and advances *p past the closing quote. Returns the cell, or NULL if the quote is not
 * closed. */
static char *unquote(char **p)
{
    char *cell = *p, *dst = *p, *src = *p;

    for (;; src++) {
        if (*src == '\0')
            return NULL;
        if (*src == '"') {
            if (src[1] != '"')
                break;
            src++;
        }
        *dst++ = *src;
    }
    *p = src + 1;
    *dst = '\0';
    return cell;
}

int csv_split(char *line, char separator, char **cells, int max)
{
    const char ends[] = {separator, '"', '\0'};
    int n = 0;

    for (char *p = line;;) {
        if (n == max)
            return -1;
        if (*p == '"') {
            p++;
            cells[n] = unquote(&p);
            if (!cells[n])
                return -1;
        } else {
            cells[n] = p;
            p += strcspn(p, ends);
        }
        n++;
        if (*p == '\0')
            return n;
        if (*p != separator)
            return -1;
        *p++ = '\0';
    }
}

/* Returns whether a spreadsheet would compute the text. It ignores blanks before the sign, which
 * may be one of full width (U+FF1D, U+FF0B, U+FF0D, U+FF20). An apostrophe counts so that csv_text
 * is unambiguous. */
static bool is_formula(const char *text)
{
    static const char *const signs[] = {"=", "+", "-", "@", "'", "\xef\xbc\x9d", "\xef\xbc\x8b",
                                        "\xef\xbc\x8d", "\xef\xbc\xa0"};
    size_t n;

    while ((n = *text == ' ' ? 1 : control_size(text)))
        text += n;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(text, signs[i], strlen(signs[i])) == 0)
            return true;
    return false;
}

const char *csv_text(const char *cell)
{
    return cell[0] == '\'' && is_formula(cell + 1) ? cell + 1 : cell;
}

void csv_add_cell(struct buf *b, const char *text)
{
    bool quoted = strpbrk(text, ",\"");

    buf_add(b, quoted ? "\"" : "");
    buf_add(b, is_formula(text) ? "'" : "");
    while (*text) {
        size_t n = control_size(text);
        buf_add(b, *text == '"' ? "\"" : "");
        buf_add_bytes(b, n ? " " : text, 1);
        text += n ? n : 1;
    }
    buf_add(b, quoted ? "\"" : "");
}
