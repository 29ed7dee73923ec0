/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing text. Additions do not report errors: if memory runs out, failed is set and remains
 * set, for one check at the end (buf_steal returns NULL). */
#ifndef UNETCTL_SRC_BUF_H
#define UNETCTL_SRC_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty. data is NUL-terminated after the first addition. */
struct buf {
    char *data;
    size_t length, capacity;
    bool failed;
};

/* Reserves n more bytes and the NUL; the caller may write to data + length and set length. NULL:
 * out of memory. */
char *buf_reserve(struct buf *b, size_t n);

void buf_add(struct buf *b, const char *text);
void buf_add_bytes(struct buf *b, const void *data, size_t n);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds text as a quoted JSON string. Bytes from 0x80 (UTF-8) are unchanged. */
void buf_add_json_string(struct buf *b, const char *text);

/* Members of a JSON object, or with key NULL items of an array: a comma where one is due, the key,
 * the value. key alone: the caller adds the value. text NULL and numbers that are not finite are
 * null. real: 9 digits. */
void buf_json_key(struct buf *b, const char *key);
void buf_json_text(struct buf *b, const char *key, const char *text);
void buf_json_int(struct buf *b, const char *key, int64_t value);
void buf_json_real(struct buf *b, const char *key, double value);
void buf_json_bool(struct buf *b, const char *key, bool value);

/* The text ("" if nothing was added), which the caller frees; b becomes empty. NULL if an addition
 * failed. */
char *buf_steal(struct buf *b);

void buf_destroy(struct buf *b);

#endif
