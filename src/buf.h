/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing text. Additions do not report errors: if memory runs out, failed is set and remains
 * set, for one check at the end (buf_steal returns NULL). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty. data is NUL-terminated after the first addition. */
struct buf {
    char *data;
    size_t length, capacity;
    bool failed;
};

/* Reserves n more bytes and the NUL. The caller may write to data + length and then set length.
 * Returns that place, or NULL if memory ran out. */
char *buf_reserve(struct buf *b, size_t n);

void buf_add(struct buf *b, const char *text);
void buf_add_bytes(struct buf *b, const void *data, size_t n);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds fmt, in which each "%s", the only conversion, becomes what escape adds for the next argument,
 * a const char *. */
void buf_add_escaped(struct buf *b, void (*escape)(struct buf *b, const char *text),
                     const char *fmt, ...);

/* Adds text as a quoted JSON string. Bytes from 0x80 (UTF-8) are unchanged. */
void buf_add_json_string(struct buf *b, const char *text);

/* Returns the text ("" if nothing was added), which the caller frees, or NULL if an addition
 * failed. b becomes empty. */
char *buf_steal(struct buf *b);

void buf_destroy(struct buf *b);
