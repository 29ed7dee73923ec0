/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of bytes in a file that processes map. One process creates the file while others wait.
 *
 * A complete file gets its name DIR/KEY.cache by a rename, so that a reader never sees a partial
 * one. If a builder is killed, its temporary file remains, and the next builder removes it. A lock
 * on DIR/KEY.lock admits one builder at a time; the builder removes the lock file. If the file
 * system has no locks, every process creates the file, and the last rename wins. Records are
 * checked by CRC-32 when they are first read. All processes of a machine share the pages, and the
 * kernel may drop them, so that a set can be larger than memory. */
#ifndef UNETCTL_TRAINER_DATA_SET_CACHE_H
#define UNETCTL_TRAINER_DATA_SET_CACHE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "src/buf.h"
#include "src/err.h"

struct cache_config {
    const char *dir; /* created if missing */
    const char *key; /* 64 hex digits: the hash of what the records depend on */
    size_t count;    /* records */
    uint64_t nbytes; /* total size of the records, at least: checked against the free space */
    int threads;     /* that create records */
    /* Appends record i to dst, which is empty. Called by several threads at once. */
    int (*make)(void *arg, size_t i, struct buf *dst, struct err *e);
    void *arg;
    const atomic_int *interrupt; /* set: cancel; may be NULL */
};

struct cache;

/* Opens the file, or creates it if it is missing or damaged. If that fails, removes what it has
 * created, dir too. */
struct cache *cache_open(const struct cache_config *config, struct err *e);
void cache_close(struct cache *c);

const char *cache_path(const struct cache *c);

/* Is there a complete file? Its records are not checked. */
bool cache_exists(const struct cache_config *config);

/* Record i, aligned to 16 bytes, valid until cache_close. NULL with ERR_DATA: the record is
 * damaged. Thread-safe; does not allocate. */
const void *cache_get(struct cache *c, size_t i, size_t *nbytes, struct err *e);

#endif
