/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/sha256.h"

#include <fcntl.h>
#include <nettle/version.h>

#include "src/files.h"

void sha256_add(struct sha256_ctx *s, const void *data, size_t n)
{
    sha256_update(s, n, data);
}

void sha256_finish(struct sha256_ctx *s, char hex[65])
{
    unsigned char digest[SHA256_DIGEST_SIZE];

#if NETTLE_VERSION_MAJOR < 4
    sha256_digest(s, sizeof digest, digest);
#else
    sha256_digest(s, digest);
#endif
    for (size_t i = 0; i < sizeof digest; i++)
        sprintf(hex + 2 * i, "%02x", digest[i]);
}

void sha256_bytes(const void *data, size_t n, char hex[65])
{
    struct sha256_ctx s;

    sha256_init(&s);
    sha256_add(&s, data, n);
    sha256_finish(&s, hex);
}

int sha256_file(const char *path, char hex[65], struct err *e)
{
    struct sha256_ctx s;
    unsigned char block[16384];
    ssize_t n;
    int fd = files_open(path, O_RDONLY, 0);

    if (fd < 0)
        return files_error(e, ERR_DATA, errno, "cannot read", path);
    sha256_init(&s);
    while ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))
        sha256_add(&s, block, n > 0 ? (size_t)n : 0);
    int saved = errno;
    close(fd);
    if (n < 0)
        return err_errno(e, ERR_DATA, saved, "cannot read %s", path);
    sha256_finish(&s, hex);
    return 0;
}

/* ---- HMAC ---- */

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
