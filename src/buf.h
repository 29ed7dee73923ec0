/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that grows. Adding never reports: when memory runs out, failed is set and stays set, and the
 * one check stands at the end (buf_steal returns NULL). */
#ifndef UNETCTL_SRC_BUF_H
#define UNETCTL_SRC_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is the empty buffer. data is NUL-terminated as soon as something was added. */
struct buf {
    char *data;
    size_t length, capacity;
    bool failed;
};

/* Room for n more bytes and the NUL; data + length may then be written directly (and length set).
 * NULL when there is no memory. */
char *buf_reserve(struct buf *b, size_t n);

void buf_add(struct buf *b, const char *text);
void buf_add_bytes(struct buf *b, const void *data, size_t n);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* text as a JSON string with its quotes. Bytes from 0x80 pass as they are (UTF-8). */
void buf_add_json_string(struct buf *b, const char *text);

/* Members of a JSON object, or with key NULL items of an array: a comma where one is due, the key,
 * the value. key alone: the caller adds the value. text NULL and numbers that are not finite are
 * null. real: 9 digits. */
void buf_json_key(struct buf *b, const char *key);
void buf_json_text(struct buf *b, const char *key, const char *text);
void buf_json_int(struct buf *b, const char *key, int64_t value);
void buf_json_real(struct buf *b, const char *key, double value);
void buf_json_bool(struct buf *b, const char *key, bool value);

/* The text (malloc, "" when nothing was added), now the caller's; b is empty again. NULL when an
 * addition had failed. */
char *buf_steal(struct buf *b);

void buf_destroy(struct buf *b);

#endif
