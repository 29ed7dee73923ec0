/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocation with one error: ERR_INTERNAL, "out of memory". The caller frees with free(). */
#pragma once

#include <stddef.h>

#include "src/err.h"

/* Return an array of n elements of size bytes, zeroed or uninitialised, or NULL with an error. n
 * 0 is not an error. */
void *mem_zero(size_t n, size_t size, struct err *e);
void *mem_alloc(size_t n, size_t size, struct err *e);

/* Return a copy of text, or formatted text, or NULL with an error, unless e is NULL. */
char *mem_text(const char *text, struct err *e);
char *mem_textf(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Makes room for one more element after the n of an array, which is passed as the address of its
 * pointer (NULL with capacity 0 at first). *capacity, in elements, grows with it. Returns 0, or -1
 * with an error, unless e is NULL, and leaves the array unchanged. */
int mem_grow(void *array, size_t n, size_t *capacity, size_t size, struct err *e);

/* Fills e with "out of memory" for an allocation that was not made by the functions above. Returns
 * -1. */
int mem_fail(struct err *e);
