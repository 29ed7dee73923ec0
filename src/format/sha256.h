/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashes and codes of messages, by nettle. */
#pragma once

#include "src/base.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>

/* What nettle's SHA-256 lacks. A hash begins by nettle's sha256_init. */

void sha256_add(struct sha256_ctx *s, const void *data, size_t n);

/* Writes 64 lower-case digits and a NUL. */
void sha256_finish(struct sha256_ctx *s, char hex[65]);

/* Hashes n bytes. */
void sha256_bytes(const void *data, size_t n, char hex[65]);

/* Hashes a whole regular file. Returns 0, or -1 with ERR_DATA. */
int sha256_file(const char *path, char hex[65], struct err *e);

/* HMAC-SHA-256 by nettle. A key is prepared by hmac_sha256_set_key, and codes are compared by
 * memeql_sec. */
#define HMAC_SIZE SHA256_DIGEST_SIZE

struct hmac_part {
    const void *data;
    size_t nbytes;
};

/* Sets dst to the code of the concatenated parts. */
void hmac_sign(const struct hmac_sha256_ctx *key, const struct hmac_part *parts, size_t nparts,
               unsigned char dst[HMAC_SIZE]);
