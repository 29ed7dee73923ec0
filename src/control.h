/* SPDX-License-Identifier: BSD-3-Clause */
/* Characters of a text from a file that a terminal, a page or a spreadsheet would obey instead of
 * showing them: control characters (C0, DEL, C1), separators of lines and paragraphs (U+2028 and
 * U+2029), and those that change the direction of text (U+061C, U+200E and U+200F, U+202A to
 * U+202E, U+2066 to U+2069), which let a text read as another one. */
#ifndef UNETCTL_SRC_CONTROL_H
#define UNETCTL_SRC_CONTROL_H

#include <stddef.h>

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

#endif
