/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts from files and for files: harmless characters, UTF-8, file names, cells of CSV. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"

/* Characters of a text from a file that a terminal, a page or a spreadsheet would obey instead of
 * showing them: control characters (C0, DEL, C1), separators of lines and paragraphs (U+2028 and
 * U+2029), and those that change the direction of text (U+061C, U+200E and U+200F, U+202A to
 * U+202E, U+2066 to U+2069), which let a text read as another one. */

/* Returns the number of bytes of the character at p if it is one of them, otherwise 0; also at the
 * final NUL. */
static inline size_t control_size(const char *p)
{
    const unsigned char *c = (const unsigned char *)p;

    if ((c[0] && c[0] < 0x20) || c[0] == 0x7f)
        return 1;
    if ((c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) || (c[0] == 0xd8 && c[1] == 0x9c))
        return 2;
    if (c[0] != 0xe2 || (c[1] != 0x80 && c[1] != 0x81))
        return 0;
    return c[1] == 0x81 ? (c[2] >= 0xa6 && c[2] <= 0xa9 ? 3 : 0)
           : c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae) ? 3 : 0;
}

/* Replaces each of them by a blank, in place. Returns text. */
static inline char *control_blank(char *text)
{
    char *dst = text;

    for (const char *p = text; *p;) {
        size_t n = control_size(p);
        *dst++ = n ? ' ' : *p;
        p += n ? n : 1;
    }
    *dst = 0;
    return text;
}

/* Returns the number of bytes of the UTF-8 character at p, in a NUL-terminated text (1 at the
 * NUL), or 0 if it is invalid (RFC 3629: also if it is not the shortest form, or a surrogate). */
size_t utf8_size(const char *p);

/* Returns whether text begins with start. */
bool text_begins(const char *text, const char *start);

/* Returns whether list, words between blanks or commas, has word[0..n). */
bool text_has_word(const char *list, const char *word, size_t n);

/* File names: their parts, and a name as one line of text. A name may contain a newline, an escape
 * sequence or bytes that are not UTF-8, none of which may break a table or a terminal. */
#define FILENAME_TEXT_SIZE 512

/* Writes name to dst: printable ASCII and valid UTF-8 unchanged, a backslash doubled, the bytes of
 * control characters and any others as \xNN. A name that does not fit ends in "...". size is at
 * least 4. Returns dst. */
const char *filename_escape(const char *name, char *dst, size_t size);

bool filename_is_utf8(const char *name);

/* Returns the part of path after its last slash. */
const char *filename_base(const char *path);

/* Returns the length of name without its last suffix: 3 for "a.b.png". ".keep" has no suffix. */
size_t filename_stem(const char *name);

/* Returns whether name ends in end and is longer. */
bool filename_ends(const char *name, const char *end);

/* Returns whether name ends in one of these suffixes, in any case. */
#define FILENAME_IMAGES "png tif tiff jpg jpeg bmp"
bool filename_is_image(const char *name);

/* Lines of CSV by RFC 4180: cells between commas, in quotes if they contain commas or quotes. A
 * text in a cell cannot give orders: the characters of src/text.h are written as blanks, so a
 * cell never contains a line end, and a text that a spreadsheet would compute as a formula is
 * written with an apostrophe before it, which csv_text removes. */

/* Splits line (without line end) in place at separators; cells[0..max) point into it. Returns
 * the number of cells, or -1 if a quote is not closed, text follows a closed quote, or there are
 * more than max cells. */
int csv_split(char *line, char separator, char **cells, int max);

/* Returns the text in a cell of csv_add_cell: cell, or what follows its apostrophe. */
const char *csv_text(const char *cell);

/* Adds a cell with this text. The caller adds the commas between cells, and cells of numbers. */
void csv_add_cell(struct buf *b, const char *text);
