/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory whose absence is one error: ERR_INTERNAL, "out of memory". All of it goes to free(). */
#ifndef UNETCTL_SRC_MEM_H
#define UNETCTL_SRC_MEM_H

#include <stddef.h>

#include "src/err.h"

/* n elements of size bytes, zeroed, or not; never NULL because n is 0. */
void *mem_zero(size_t n, size_t size, struct err *e);
void *mem_alloc(size_t n, size_t size, struct err *e);

/* A copy of text; formatted text. */
char *mem_text(const char *text, struct err *e);
char *mem_textf(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Makes room for one more element behind the n of an array. array: the address of the pointer to
 * it. 0, or -1; then the array stays as it was. */
int mem_grow(void *array, size_t n, size_t *capacity, size_t size, struct err *e);

/* The error itself, for allocations by other means. Returns -1. */
int mem_fail(struct err *e);

#endif
