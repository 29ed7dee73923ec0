/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/set/set_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <zlib.h>

#include "src/clock.h"
#include "src/parallel.h"
#include "src/run/marker.h"

/* "UTCACHE1" on a little-endian machine; others take the file for damaged. */
#define MAGIC 0x3145484341435455u
#define ALIGNMENT 16u
#define WAIT_S 7200 /* how long another process may decode the images */

struct cache_header {
    uint64_t magic, count, index_offset;
    uint32_t index_crc, header_crc; /* header_crc: of the members before it, and of key */
    char key[64];
};

struct cache_entry {
    uint64_t offset, nbytes;
    uint32_t crc, unused;
};

struct cache {
    char *path;
    const char *map;
    size_t map_bytes;
    size_t count;
    const struct cache_entry *index;
    atomic_uchar *checked; /* per record: its CRC has been compared */
};

/* A cache file that is being created: threads claim records, and append each when it is
 * finished. */
struct cache_build {
    const struct cache_config *config;
    const char *path;
    int fd;
    pthread_mutex_t lock;
    uint64_t end; /* end of the file so far */
    struct cache_entry *index;
};

static uint32_t crc_of(const void *data, size_t n)
{
    return (uint32_t)crc32_z(0, data, n);
}

static uint32_t header_crc(const struct cache_header *h)
{
    uint32_t crc = crc_of(h, offsetof(struct cache_header, header_crc));

    return (uint32_t)crc32_z(crc, (const Bytef *)h->key, sizeof h->key);
}

/* Returns whether header and index are valid. The records are not checked. */
static bool is_valid(const char *map, size_t nbytes, const struct cache_config *config)
{
    struct cache_header h;

    if (nbytes < sizeof h)
        return false;
    memcpy(&h, map, sizeof h);
    if (h.magic != MAGIC || h.header_crc != header_crc(&h) ||
        memcmp(h.key, config->key, sizeof h.key) != 0 || h.count != config->count ||
        h.index_offset % ALIGNMENT || h.index_offset > nbytes ||
        (nbytes - h.index_offset) / sizeof(struct cache_entry) != h.count)
        return false;
    const struct cache_entry *index = (const void *)(map + h.index_offset);
    if (crc_of(index, h.count * sizeof *index) != h.index_crc)
        return false;
    for (size_t i = 0; i < h.count; i++)
        if (index[i].offset % ALIGNMENT || index[i].offset > h.index_offset ||
            index[i].nbytes > h.index_offset - index[i].offset)
            return false;
    return true;
}

static const char *map_file(const char *path, size_t *nbytes)
{
    struct stat st;
    void *map = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        map = mmap(NULL, *nbytes = (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return map == MAP_FAILED ? NULL : map;
}

/* Maps the file. Returns 0, 1 if there is no file, 2 if it is damaged, or -1 on error. */
static int use_file(struct cache *c, const struct cache_config *config, struct err *e)
{
    struct cache_header h;

    c->map = map_file(c->path, &c->map_bytes);
    if (!c->map)
        return 1;
    if (!is_valid(c->map, c->map_bytes, config)) {
        munmap((void *)(uintptr_t)c->map, c->map_bytes);
        c->map = NULL;
        return 2;
    }
    memcpy(&h, c->map, sizeof h);
    c->count = h.count;
    c->index = (const void *)(c->map + h.index_offset);
    c->checked = mem_zero(c->count, sizeof *c->checked, e);
    return c->checked ? 0 : -1;
}

static int write_fully(int fd, const void *data, size_t n, uint64_t offset)
{
    const char *p = data;

    while (n > 0) {
        ssize_t done = pwrite(fd, p, n, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        p += done;
        n -= (size_t)done;
        offset += (uint64_t)done;
    }
    return 0;
}

static int set_write_error(const char *path, struct err *e)
{
    return err_errno(e, ERR_DATA, errno, "%s: cannot write the cache of decoded images; set "
                     "data.cache to another folder or to off", path);
}

static bool is_interrupted(const struct cache_config *config)
{
    return config->interrupt && *config->interrupt;
}

/* Reserves the space of the cache before the decoding, which may take hours, so that a full disk or
 * quota is noticed now. If the file system cannot reserve space, the free space is compared. */
static int reserve_space(const struct cache_build *b, struct err *e)
{
    const struct cache_config *config = b->config;
    struct statvfs disk;
    int reason = 0;

    while (fallocate(b->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)config->nbytes) &&
           (reason = errno) == EINTR && !is_interrupted(config))
        reason = 0;
    if (reason != ENOSPC && reason != EDQUOT && reason != EFBIG)
        reason = reason && fstatvfs(b->fd, &disk) == 0 &&
                 (double)config->nbytes > (double)disk.f_bavail * (double)disk.f_frsize
                     ? ENOSPC
                     : 0;
    return reason ? err_errno(e, ERR_DATA, reason,
                              "%s: the cache of decoded images needs %.2f GiB; free some space, or "
                              "set data.cache to another folder",
                              config->dir, (double)config->nbytes / 0x1p30)
                  : 0;
}

static int append_record(struct cache_build *b, size_t i, struct buf *record, struct err *e)
{
    struct cache_entry *entry = &b->index[i];

    if (b->config->make(b->config->arg, i, record, e))
        return -1;
    if (record->failed)
        return mem_fail(e);
    entry->nbytes = record->length;
    entry->crc = crc_of(record->data, record->length);
    pthread_mutex_lock(&b->lock);
    entry->offset = b->end;
    b->end += (record->length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    pthread_mutex_unlock(&b->lock);
    return write_fully(b->fd, record->data, record->length, entry->offset)
               ? set_write_error(b->path, e)
               : 0;
}

static int build_record(void *arg, size_t i, struct err *e)
{
    struct cache_build *b = arg;
    struct buf record = {0};
    int rc = is_interrupted(b->config)
                 ? err_set(e, ERR_INTERRUPT, "interrupted while decoding images")
                 : append_record(b, i, &record, e);

    buf_destroy(&record);
    return rc;
}

static int finish_file(struct cache_build *b, struct err *e)
{
    const struct cache_config *config = b->config;
    struct cache_header h = {.magic = MAGIC, .count = config->count, .index_offset = b->end};
    size_t nbytes = config->count * sizeof *b->index;

    h.index_crc = crc_of(b->index, nbytes);
    memcpy(h.key, config->key, sizeof h.key);
    h.header_crc = header_crc(&h);
    if (write_fully(b->fd, b->index, nbytes, b->end) || write_fully(b->fd, &h, sizeof h, 0) ||
        ftruncate(b->fd, (off_t)(b->end + nbytes)) || fsync(b->fd))
        return set_write_error(b->path, e);
    return 0;
}

static int build_file(const struct cache_config *config, const char *path, struct err *e)
{
    struct cache_build b = {.config = config,
                            .path = path,
                            .end = (sizeof(struct cache_header) + ALIGNMENT - 1) / ALIGNMENT *
                                   ALIGNMENT};

    b.fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
    if (b.fd < 0)
        return set_write_error(path, e);
    b.index = mem_zero(config->count, sizeof *b.index, e);
    if (!b.index) {
        close(b.fd);
        return -1;
    }
    pthread_mutex_init(&b.lock, NULL);
    int rc = reserve_space(&b, e) ||
                     parallel_each(config->count, config->threads, build_record, &b, e) ||
                     finish_file(&b, e)
                 ? -1
                 : 0;
    pthread_mutex_destroy(&b.lock);
    free(b.index);
    close(b.fd);
    return rc;
}

/* Removes temporary files of builders that were killed. The caller holds the lock, so no process is
 * writing to them. */
static void remove_leftovers(const struct cache_config *config)
{
    char prefix[80], path[PATH_MAX];
    struct dirent *entry;
    DIR *d = opendir(config->dir);

    snprintf(prefix, sizeof prefix, "%.16s.tmp-", config->key);
    while (d && (entry = readdir(d)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(path, sizeof path, "%s/%s", config->dir, entry->d_name);
            unlink(path);
        }
    if (d)
        closedir(d);
}

static int build_cache(const struct cache *c, const struct cache_config *config, struct err *e)
{
    char temporary[PATH_MAX], host[64] = "";

    if (config->begin && config->begin(config->arg, e))
        return -1;
    gethostname(host, sizeof host - 1);
    snprintf(temporary, sizeof temporary, "%s/%.16s.tmp-%s-%ld", config->dir, config->key, host,
             (long)getpid());
    log_info("decoding %zu samples to %s", config->count, c->path);
    int rc = build_file(config, temporary, e);
    if (rc == 0 && rename(temporary, c->path))
        rc = set_write_error(c->path, e);
    if (rc)
        unlink(temporary);
    return rc;
}

/* Waits for the lock. Returns its descriptor, -1 if the file system has no locks, or -2 on
 * error. */
static int take_lock(const struct cache_config *config, const char *path, struct err *e)
{
    int fd = lockfile_open(path, false, e);
    if (fd < 0) {
        set_write_error(path, e);
        return -2;
    }
    double end = clock_now() + WAIT_S;
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (is_interrupted(config)) {
            close(fd);
            err_set(e, ERR_INTERRUPT,
                    "interrupted while waiting for a process that decodes images");
            return -2;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            close(fd);
            return -1;
        }
        if (clock_now() >= end) {
            close(fd);
            err_set(e, ERR_TIMEOUT, "%s: another process has decoded images for %d hours; end it, "
                    "or remove this file", path, WAIT_S / 3600);
            return -2;
        }
        clock_sleep(0.05);
    }
    return fd;
}

/* Returns whether the locked file is still the one of this path. Another builder may have removed
 * it, and a third may have created it again. */
static bool is_current(const char *path, int lock)
{
    struct stat own, there;

    return lock < 0 || (fstat(lock, &own) == 0 && stat(path, &there) == 0 &&
                        own.st_dev == there.st_dev && own.st_ino == there.st_ino);
}

static int open_or_build(struct cache *c, const struct cache_config *config, struct err *e)
{
    int lock, rc = use_file(c, config, e);
    char path[PATH_MAX];

    if (rc <= 0)
        return rc;
    snprintf(path, sizeof path, "%s/%.16s.lock", config->dir, config->key);
    while ((lock = take_lock(config, path, e)) != -2 && !is_current(path, lock))
        close(lock);
    if (lock == -2)
        return -1;
    rc = use_file(c, config, e); /* another process may have created it meanwhile */
    if (rc == 2)
        log_warn("%s: this cache is damaged and is created again", c->path);
    if (rc > 0) {
        if (lock >= 0)
            remove_leftovers(config);
        rc = build_cache(c, config, e) ? -1 : use_file(c, config, e);
        if (rc > 0)
            rc = err_set(e, ERR_DATA, "%s: cannot read this new cache", c->path);
    }
    unlink(path);
    if (lock >= 0)
        close(lock);
    return rc;
}

struct cache *cache_open(const struct cache_config *config, struct err *e)
{
    struct cache *c = mem_zero(1, sizeof *c, e);
    bool made = false;

    if (!c || !(c->path = mem_textf(e, "%s/%.16s.cache", config->dir, config->key)))
        goto fail;
    made = mkdir(config->dir, 0777) == 0;
    if (!made && errno != EEXIST) {
        set_write_error(config->dir, e);
        goto fail;
    }
    if (open_or_build(c, config, e) == 0)
        return c;
    if (made)
        rmdir(config->dir); /* fails if other files are in it */
fail:
    cache_close(c);
    return NULL;
}

void cache_close(struct cache *c)
{
    if (!c)
        return;
    if (c->map)
        munmap((void *)(uintptr_t)c->map, c->map_bytes);
    free((void *)c->checked);
    free(c->path);
    free(c);
}

const char *cache_path(const struct cache *c)
{
    return c->path;
}

/* Lets the pages of a large part leave this process's memory; the file keeps them. */
#define LARGE ((size_t)16 << 20)
static void drop_pages(const char *data, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)data % page;

    if (n >= LARGE)
        madvise((void *)(uintptr_t)(data - before), n + before, MADV_DONTNEED);
}

static uint32_t crc_of_record(const char *record, size_t nbytes)
{
    uLong crc = 0;

    for (size_t at = 0, n; at < nbytes; at += n) {
        n = nbytes - at < LARGE ? nbytes - at : LARGE;
        crc = crc32_z(crc, (const Bytef *)record + at, n);
        drop_pages(record + at, n);
    }
    return (uint32_t)crc;
}

void cache_release(const struct cache *c, size_t i)
{
    drop_pages(c->map + c->index[i].offset, c->index[i].nbytes);
}

const void *cache_get(struct cache *c, size_t i, size_t *nbytes, struct err *e)
{
    const struct cache_entry *entry = &c->index[i];
    const char *record = c->map + entry->offset;

    *nbytes = entry->nbytes;
    if (!atomic_load_explicit(&c->checked[i], memory_order_relaxed)) {
        if (crc_of_record(record, entry->nbytes) != entry->crc) {
            err_set(e, ERR_DATA, "%s: record %zu is damaged (CRC); remove the file, so that it "
                    "is created again", c->path, i);
            return NULL;
        }
        atomic_store_explicit(&c->checked[i], 1, memory_order_relaxed);
    }
    return record;
}
