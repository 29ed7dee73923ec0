/* SPDX-License-Identifier: BSD-3-Clause */
/* HMAC-SHA-256 (RFC 2104, FIPS 198-1), the only primitive by which ranks authenticate each other.
 * Callers use no other part of the hash, so a library can take its place. */
#ifndef UNETCTL_SRC_FORMAT_HMAC_H
#define UNETCTL_SRC_FORMAT_HMAC_H

#include <stdbool.h>
#include <stddef.h>

#include "src/format/sha256.h"

#define HMAC_SIZE 32

/* A key, prepared once for many messages. */
struct hmac {
    struct sha256 inner, outer;
};

struct hmac_part {
    const void *data;
    size_t nbytes;
};

/* Prepares a key of at most 64 bytes. */
void hmac_init(struct hmac *key, const void *bytes, size_t nbytes);

/* Sets dst to the code of the concatenated parts. */
void hmac_sign(const struct hmac *key, const struct hmac_part *parts, size_t nparts,
               unsigned char dst[HMAC_SIZE]);

/* Compares in a time that does not depend on where the codes differ. */
bool hmac_same(const unsigned char a[HMAC_SIZE], const unsigned char b[HMAC_SIZE]);

#endif
