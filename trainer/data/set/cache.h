/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of bytes in a file that processes map: made once, by one process, while others wait.
 *
 * DIR/KEY.cache appears by rename when it is complete, so a reader never sees half of one, and a
 * builder that is killed leaves only a temporary file, which the next builder removes. Builders on
 * one machine (and, where the file system has locks, on several) take turns by a lock on
 * DIR/KEY.lock, which the last of them removes; without locks each makes the file, and the last one
 * stays. Records are checked by
 * CRC-32 when they are first read. Pages are shared by all processes of a machine, and the kernel
 * may drop them: a set larger than memory works. */
#ifndef UNETCTL_TRAINER_DATA_SET_CACHE_H
#define UNETCTL_TRAINER_DATA_SET_CACHE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "src/buf.h"
#include "src/err.h"

struct cache_config {
    const char *dir; /* made if need be */
    const char *key; /* 64 hex digits: what the records depend on */
    size_t count;    /* records */
    uint64_t nbytes; /* that they will take together, at least: there must be room for them first */
    int threads;     /* that make them */
    /* Appends record i to dst, which is empty. Called by several threads at once. */
    int (*make)(void *arg, size_t i, struct buf *dst, struct err *e);
    void *arg;
    const atomic_int *interrupt; /* give up when it is set; may be NULL */
};

struct cache;

/* The file there is, or a new one when there is none or it is damaged. What a build that fails has
 * made is removed, dir too. */
struct cache *cache_open(const struct cache_config *config, struct err *e);
void cache_close(struct cache *c);

const char *cache_path(const struct cache *c);

/* Is there a whole file already? Its records were not looked at. */
bool cache_exists(const struct cache_config *config);

/* Record i, aligned to 16 bytes, until cache_close. NULL with ERR_DATA when it is damaged.
 * Thread-safe; allocates nothing. */
const void *cache_get(struct cache *c, size_t i, size_t *nbytes, struct err *e);

#endif
