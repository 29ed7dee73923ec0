/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/filename.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Bytes of the valid UTF-8 character at s, 0 if there is none (RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF). */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = 0;

    if (s[0] < 0x80)
        n = 1;
    else if (s[0] >= 0xc2 && s[0] < 0xf5)
        n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* C0 and C1 controls and DEL move cursors or end lines. */
static bool is_control(const unsigned char *s)
{
    return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

const char *filename_escape(const char *name, char *dst, size_t size)
{
    const unsigned char *s = (const unsigned char *)name;
    size_t n = 0;

    while (*s) {
        char piece[8];
        size_t length = utf8_length(s), width;

        if (*s == '\\')
            width = (size_t)snprintf(piece, sizeof piece, "\\\\");
        else if (length == 0 || is_control(s))
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
        size_t length = utf8_length(s);
        if (length == 0)
            return false;
        s += length;
    }
    return true;
}

size_t filename_stem(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? (size_t)(dot - name) : strlen(name);
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
