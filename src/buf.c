/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/buf.h"

char *buf_reserve(struct buf *b, size_t n)
{
    if (b->failed || n >= SIZE_MAX / 2 - b->length) {
        b->failed = true;
        return NULL;
    }
    size_t need = b->length + n + 1;
    if (need > b->capacity) {
        size_t capacity = need > 2 * b->capacity ? need : 2 * b->capacity;
        char *data = realloc(b->data, capacity < 64 ? 64 : capacity);
        if (!data) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->capacity = capacity < 64 ? 64 : capacity;
    }
    return b->data + b->length;
}

void buf_add_bytes(struct buf *b, const void *data, size_t n)
{
    char *dst = buf_reserve(b, n);

    if (!dst)
        return;
    if (n)
        memcpy(dst, data, n);
    dst[n] = 0;
    b->length += n;
}

void buf_add(struct buf *b, const char *text)
{
    buf_add_bytes(b, text, strlen(text));
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    size_t room = b->failed ? 0 : b->capacity - b->length; /* mostly enough */
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(room ? b->data + b->length : NULL, room, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n >= room) {
        if (room)
            b->data[b->length] = 0;
        char *dst = buf_reserve(b, (size_t)n);
        va_start(ap, fmt);
        n = dst ? vsnprintf(dst, (size_t)n + 1, fmt, ap) : -1;
        va_end(ap);
    }
    if (n < 0) {
        b->failed = true;
        return;
    }
    b->length += (size_t)n;
}

void buf_add_escaped(struct buf *b, void (*escape)(struct buf *b, const char *text),
                     const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    for (const char *p; (p = strstr(fmt, "%s")); fmt = p + 2) {
        buf_add_bytes(b, fmt, (size_t)(p - fmt));
        escape(b, va_arg(ap, const char *));
    }
    va_end(ap);
    buf_add(b, fmt);
}

void buf_add_json_string(struct buf *b, const char *text)
{
    static const char short_form[] = "\bb\ff\nn\rr\tt\"\"\\\\";

    buf_add(b, "\"");
    for (const char *start = text;; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
            continue;
        buf_add_bytes(b, start, (size_t)(text - start));
        start = text + 1;
        if (c == 0)
            break;
        const char *s = short_form;
        while (*s && *s != (char)c)
            s += 2;
        if (*s)
            buf_addf(b, "\\%c", s[1]);
        else
            buf_addf(b, "\\u%04x", c);
    }
    buf_add(b, "\"");
}

char *buf_steal(struct buf *b)
{
    buf_add(b, "");
    char *text = b->failed ? NULL : b->data;
    if (!text)
        free(b->data);
    *b = (struct buf){0};
    return text;
}

void buf_destroy(struct buf *b)
{
    if (!b)
        return;
    free(b->data);
    *b = (struct buf){0};
}
