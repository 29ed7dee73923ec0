/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/text/filename.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/control.h"
#include "src/text/utf8.h"

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

bool filename_is_image(const char *name)
{
    static const char *const suffixes[] = {".png", ".tif", ".tiff", ".jpg", ".jpeg", ".bmp"};
    const char *end = name + filename_stem(name);

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcasecmp(end, suffixes[i]) == 0)
            return true;
    return false;
}
