/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/text.h"

size_t utf8_size(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0x80   ? 1
               : p[0] < 0xc2 ? 0
               : p[0] < 0xe0 ? 2
               : p[0] < 0xf0 ? 3
               : p[0] < 0xf5 ? 4
                             : 0;

    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

/* ---- file names ---- */

const char *filename_escape(const char *name, char *dst, size_t size)
{
    const unsigned char *s = (const unsigned char *)name;
    size_t n = 0;

    while (*s) {
        char piece[8];
        size_t length = utf8_size((const char *)s), width;

        if (*s == '\\')
            width = (size_t)snprintf(piece, sizeof piece, "\\\\");
        else if (length == 0 || control_size((const char *)s))
            width = (size_t)snprintf(piece, sizeof piece, "\\x%02x", *s), length = 1;
        else
            width = (size_t)snprintf(piece, sizeof piece, "%.*s", (int)length, (const char *)s);
        if (n + width + 4 > size) {
            strcpy(dst + n, "...");
            return dst;
        }
        memcpy(dst + n, piece, width);
        n += width;
        s += length;
    }
    dst[n] = 0;
    return dst;
}

bool filename_is_utf8(const char *name)
{
    const unsigned char *s = (const unsigned char *)name;

    while (*s) {
        size_t length = utf8_size((const char *)s);
        if (length == 0)
            return false;
        s += length;
    }
    return true;
}

bool text_begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool text_has_word(const char *list, const char *word, size_t n)
{
    for (size_t m; *list; list += m + (list[m] != 0)) {
        m = strcspn(list, " ,");
        if (m == n && strncmp(list, word, n) == 0)
            return true;
    }
    return false;
}

const char *filename_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

size_t filename_stem(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? (size_t)(dot - name) : strlen(name);
}

bool filename_ends(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

bool filename_is_image(const char *name)
{
    static const char *const suffixes[] = {".png", ".tif", ".tiff", ".jpg", ".jpeg", ".bmp"};
    const char *end = name + filename_stem(name);

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcasecmp(end, suffixes[i]) == 0)
            return true;
    return false;
}

/* ---- cells of CSV ---- */

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
        if (text_begins(text, signs[i]))
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
