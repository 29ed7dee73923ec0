/* SPDX-License-Identifier: BSD-3-Clause */
/* What nettle's SHA-256 lacks. A hash begins by nettle's sha256_init. */
#ifndef UNETCTL_SRC_FORMAT_SHA256_H
#define UNETCTL_SRC_FORMAT_SHA256_H

#include <nettle/sha2.h>
#include <stddef.h>

#include "src/err.h"

void sha256_add(struct sha256_ctx *s, const void *data, size_t n);

/* Writes 64 lower-case digits and a NUL. */
void sha256_finish(struct sha256_ctx *s, char hex[65]);

/* Hashes n bytes. */
void sha256_bytes(const void *data, size_t n, char hex[65]);

/* Hashes a whole regular file. Returns 0, or -1 with ERR_DATA. */
int sha256_file(const char *path, char hex[65], struct err *e);

#endif
