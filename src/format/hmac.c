/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/format/hmac.h"

#include <nettle/version.h>

void hmac_sign(const struct hmac_sha256_ctx *key, const struct hmac_part *parts, size_t nparts,
               unsigned char dst[HMAC_SIZE])
{
    struct hmac_sha256_ctx s = *key;

    for (size_t i = 0; i < nparts; i++)
        hmac_sha256_update(&s, parts[i].nbytes, parts[i].data);
#if NETTLE_VERSION_MAJOR < 4
    hmac_sha256_digest(&s, HMAC_SIZE, dst);
#else
    hmac_sha256_digest(&s, dst);
#endif
}
