/* SPDX-License-Identifier: BSD-3-Clause */
/* HMAC-SHA-256 by nettle. A key is prepared by hmac_sha256_set_key, and codes are compared by
 * memeql_sec. */
#ifndef UNETCTL_SRC_FORMAT_HMAC_H
#define UNETCTL_SRC_FORMAT_HMAC_H

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stddef.h>

#define HMAC_SIZE SHA256_DIGEST_SIZE

struct hmac_part {
    const void *data;
    size_t nbytes;
};

/* Sets dst to the code of the concatenated parts. */
void hmac_sign(const struct hmac_sha256_ctx *key, const struct hmac_part *parts, size_t nparts,
               unsigned char dst[HMAC_SIZE]);

#endif
