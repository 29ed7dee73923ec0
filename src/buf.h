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

/* Reserves n more bytes and the NUL. The caller may write to data + length and then set length.
 * Returns that place, or NULL if memory ran out. */
char *buf_reserve(struct buf *b, size_t n);

void buf_add(struct buf *b, const char *text);
void buf_add_bytes(struct buf *b, const void *data, size_t n);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds text as a quoted JSON string. Bytes from 0x80 (UTF-8) are unchanged. */
void buf_add_json_string(struct buf *b, const char *text);

/* Add a member of a JSON object, or with key NULL an item of an array, after a comma where one is
 * needed. buf_json_key adds only the key; the caller adds the value. A NULL text and numbers that
 * are not finite become null. Reals have 9 significant digits. */
void buf_json_key(struct buf *b, const char *key);
void buf_json_text(struct buf *b, const char *key, const char *text);
void buf_json_int(struct buf *b, const char *key, int64_t value);
void buf_json_real(struct buf *b, const char *key, double value);
void buf_json_bool(struct buf *b, const char *key, bool value);

/* Returns the text ("" if nothing was added), which the caller frees, or NULL if an addition
 * failed. b becomes empty. */
char *buf_steal(struct buf *b);

void buf_destroy(struct buf *b);

#endif
