/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/csv.h"

#include <string.h>

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

void csv_add_cell(struct buf *b, const char *text)
{
    bool quoted = strpbrk(text, ",\"");

    buf_add(b, quoted ? "\"" : "");
    for (; *text; text++) {
        buf_add(b, *text == '"' ? "\"" : "");
        buf_add_bytes(b, (unsigned char)*text < ' ' ? " " : text, 1);
    }
    buf_add(b, quoted ? "\"" : "");
}
