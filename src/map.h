/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table from texts to numbers, such as indices of an array by name. */
#ifndef UNETCTL_SRC_MAP_H
#define UNETCTL_SRC_MAP_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is empty. */
struct map {
    struct map_slot *slots; /* a power of two of them, at most three quarters filled */
    size_t nslots, count;
};

/* key is copied; a previous value is replaced. 0, or -1 (no memory, map unchanged). */
int map_set(struct map *m, const char *key, size_t value);

/* Does the map have key? value (optional) gets its value. */
bool map_get(const struct map *m, const char *key, size_t *value);

void map_destroy(struct map *m); /* and empty it */

#endif
