/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 (FIPS 180-4). */
#ifndef UNETCTL_SRC_FORMAT_SHA256_H
#define UNETCTL_SRC_FORMAT_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes added so far */
    unsigned char block[64];
};

/* Sets whether the processor's SHA instructions are used where it has them, which is the
 * default. For tests. */
void sha256_use_instructions(bool use);

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t n);

/* Write the hash: its bytes, or 64 lower-case digits and a NUL. s must be initialised again before
 * further use. */
void sha256_digest(struct sha256 *s, unsigned char dst[32]);
void sha256_finish(struct sha256 *s, char hex[65]);

/* Hashes n bytes. */
void sha256_bytes(const void *data, size_t n, char hex[65]);

/* Hashes a whole regular file. Returns 0, or -1 with ERR_DATA. */
int sha256_file(const char *path, char hex[65], struct err *e);

#endif
