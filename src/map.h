/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table from texts to numbers, such as indices of an array by name. */
#ifndef UNETCTL_SRC_MAP_H
#define UNETCTL_SRC_MAP_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
