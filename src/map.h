/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash of data, and a table from texts to numbers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a with 64 bits. It distinguishes data but gives no protection against an attacker. */
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

/* A hash table from texts to numbers, such as indices of an array by name. */

/* A zeroed struct is empty. */
struct map {
    struct map_slot *slots; /* a power of two of them, at most three quarters filled */
    size_t nslots, count;
};

/* Copies key and replaces a previous value. Returns 0, or -1 if memory ran out; then the map is
 * unchanged. */
int map_set(struct map *m, const char *key, size_t value);

/* Returns whether the map has key. If so, *value gets its value, unless value is NULL. */
bool map_get(const struct map *m, const char *key, size_t *value);

void map_destroy(struct map *m); /* m is then empty */
