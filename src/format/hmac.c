/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/format/hmac.h"

#define BLOCK 64 /* bytes of a block of SHA-256 */

static void init_pad(struct sha256 *s, const unsigned char *bytes, size_t nbytes,
                     unsigned char mask)
{
    unsigned char pad[BLOCK];

    for (size_t i = 0; i < BLOCK; i++)
        pad[i] = (i < nbytes ? bytes[i] : 0) ^ mask;
    sha256_init(s);
    sha256_add(s, pad, BLOCK);
}

void hmac_init(struct hmac *key, const void *bytes, size_t nbytes)
{
    init_pad(&key->inner, bytes, nbytes, 0x36);
    init_pad(&key->outer, bytes, nbytes, 0x5c);
}

void hmac_sign(const struct hmac *key, const struct hmac_part *parts, size_t nparts,
               unsigned char dst[HMAC_SIZE])
{
    struct sha256 s = key->inner;

    for (size_t i = 0; i < nparts; i++)
        sha256_add(&s, parts[i].data, parts[i].nbytes);
    sha256_digest(&s, dst);
    s = key->outer;
    sha256_add(&s, dst, HMAC_SIZE);
    sha256_digest(&s, dst);
}

bool hmac_same(const unsigned char a[HMAC_SIZE], const unsigned char b[HMAC_SIZE])
{
    unsigned char difference = 0;

    for (size_t i = 0; i < HMAC_SIZE; i++)
        difference |= (unsigned char)(a[i] ^ b[i]);
    return difference == 0;
}
