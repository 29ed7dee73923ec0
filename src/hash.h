/* SPDX-License-Identifier: BSD-3-Clause */
/* FNV-1a with 64 bits. It distinguishes data but gives no protection against an attacker. */
#ifndef UNETCTL_SRC_HASH_H
#define UNETCTL_SRC_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_BEGIN UINT64_C(14695981039346656037)

/* Returns the hash of more data. h is HASH_BEGIN or the hash of the preceding data. */
static inline uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h;
}

/* Includes the NUL, so that "a", "bc" and "ab", "c" differ. */
static inline uint64_t hash_text(uint64_t h, const char *text)
{
    return hash_bytes(h, text, strlen(text) + 1);
}

#endif
