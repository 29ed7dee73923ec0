/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/set/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "src/log.h"

#define MAGIC 0x3145484341435455u /* "UTCACHE1" on a little-endian machine: others see no magic */
#define ALIGNMENT 16u

struct header {
    uint64_t magic, count, index_offset;
    uint32_t index_crc, header_crc; /* header_crc: over all before it and the key */
    char key[64];
};

struct entry {
    uint64_t offset, nbytes;
    uint32_t crc, unused;
};

struct cache {
    char *path;
    const char *map;
    size_t map_bytes;
    size_t count;
    const struct entry *index;
    atomic_uchar *checked; /* per record */
};

/* One build: threads claim records and append them in whatever order they get ready. */
struct build {
    const struct cache_config *config;
    const char *path;
    int fd;
    pthread_mutex_t lock;
    size_t next;
    uint64_t end; /* of the file so far */
    struct entry *index;
    int rc;
    struct err e; /* the first */
};

static uint32_t crc_of(const void *data, size_t n)
{
    return (uint32_t)crc32_z(0, data, n);
}

static uint32_t header_crc(const struct header *h)
{
    uint32_t crc = crc_of(h, offsetof(struct header, header_crc));

    return (uint32_t)crc32_z(crc, (const Bytef *)h->key, sizeof h->key);
}

/* The parts of a mapped file fit together; records themselves are not looked at. */
static bool is_sound(const char *map, size_t nbytes, const struct cache_config *config)
{
    struct header h;

    if (nbytes < sizeof h)
        return false;
    memcpy(&h, map, sizeof h);
    if (h.magic != MAGIC || h.header_crc != header_crc(&h) ||
        memcmp(h.key, config->key, sizeof h.key) != 0 || h.count != config->count ||
        h.index_offset % ALIGNMENT || h.index_offset > nbytes ||
        (nbytes - h.index_offset) / sizeof(struct entry) != h.count)
        return false;
    const struct entry *index = (const void *)(map + h.index_offset);
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

/* 0: c has the file; 1: there is none that can be used; -1: no memory. */
static int use_file(struct cache *c, const struct cache_config *config, struct err *e)
{
    struct header h;

    c->map = map_file(c->path, &c->map_bytes);
    if (!c->map)
        return 1;
    if (!is_sound(c->map, c->map_bytes, config)) {
        log_warn("%s: is damaged and made again", c->path);
        munmap((void *)(uintptr_t)c->map, c->map_bytes);
        c->map = NULL;
        return 1;
    }
    memcpy(&h, c->map, sizeof h);
    c->count = h.count;
    c->index = (const void *)(c->map + h.index_offset);
    c->checked = calloc(c->count ? c->count : 1, sizeof *c->checked);
    return c->checked ? 0 : err_set(e, ERR_INTERNAL, "%s: no memory", c->path);
}

static int write_all(int fd, const void *data, size_t n, uint64_t offset)
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
    return err_errno(e, ERR_DATA, errno, "%s: the cache of decoded images can't be written; name "
                     "another folder with data.cache, or off", path);
}

static bool is_interrupted(const struct cache_config *config)
{
    return config->interrupt && *config->interrupt;
}

/* Before hours of decoding: is there room on the disk, and in the quota? Where the file system
 * cannot reserve it, its free space is compared. */
static int reserve(const struct build *b, struct err *e)
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
                              "%s: the cache of decoded images needs %.2f GiB; make room, or name "
                              "another folder with data.cache",
                              config->dir, (double)config->nbytes / 0x1p30)
                  : 0;
}

static int make_record(struct build *b, size_t i, struct buf *record, struct err *e)
{
    struct entry *entry = &b->index[i];

    record->length = 0;
    if (b->config->make(b->config->arg, i, record, e))
        return -1;
    if (record->failed)
        return err_set(e, ERR_INTERNAL, "no memory for another image");
    entry->nbytes = record->length;
    entry->crc = crc_of(record->data, record->length);
    pthread_mutex_lock(&b->lock);
    entry->offset = b->end;
    b->end += (record->length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    pthread_mutex_unlock(&b->lock);
    return write_all(b->fd, record->data, record->length, entry->offset)
               ? set_write_error(b->path, e) : 0;
}

static bool claim(struct build *b, size_t *i)
{
    pthread_mutex_lock(&b->lock);
    bool more = b->rc == 0 && b->next < b->config->count && !is_interrupted(b->config);
    if (more)
        *i = b->next++;
    pthread_mutex_unlock(&b->lock);
    return more;
}

static void *build_some(void *arg)
{
    struct build *b = arg;
    struct buf record = {0};
    struct err e;
    size_t i;

    while (claim(b, &i))
        if (make_record(b, i, &record, &e)) {
            pthread_mutex_lock(&b->lock);
            if (b->rc == 0)
                b->e = e;
            b->rc = -1;
            pthread_mutex_unlock(&b->lock);
        }
    buf_destroy(&record);
    return NULL;
}

/* The caller's thread is one of them; less than asked for will do. */
static void build_records(struct build *b)
{
    pthread_t threads[64];
    int want = b->config->threads < 64 ? b->config->threads : 64, n = 0;

    while (n + 1 < want && pthread_create(&threads[n], NULL, build_some, b) == 0)
        n++;
    build_some(b);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

static int finish_file(struct build *b, struct err *e)
{
    const struct cache_config *config = b->config;
    struct header h = {.magic = MAGIC, .count = config->count, .index_offset = b->end};
    size_t nbytes = config->count * sizeof *b->index;

    h.index_crc = crc_of(b->index, nbytes);
    memcpy(h.key, config->key, sizeof h.key);
    h.header_crc = header_crc(&h);
    if (write_all(b->fd, b->index, nbytes, b->end) || write_all(b->fd, &h, sizeof h, 0) ||
        ftruncate(b->fd, (off_t)(b->end + nbytes)) || fsync(b->fd))
        return set_write_error(b->path, e);
    return 0;
}

static int build_file(const struct cache_config *config, const char *path, struct err *e)
{
    struct build b = {.config = config, .path = path,
                      .end = (sizeof(struct header) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT};

    b.fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
    if (b.fd < 0)
        return set_write_error(path, e);
    b.index = calloc(config->count ? config->count : 1, sizeof *b.index);
    if (!b.index) {
        close(b.fd);
        return err_set(e, ERR_INTERNAL, "%s: no memory", path);
    }
    pthread_mutex_init(&b.lock, NULL);
    b.rc = reserve(&b, &b.e);
    build_records(&b);
    pthread_mutex_destroy(&b.lock);
    if (b.rc)
        *e = b.e;
    else if (b.next < config->count)
        b.rc = err_set(e, ERR_INTERRUPT, "interrupted while images were decoded");
    else
        b.rc = finish_file(&b, e);
    free(b.index);
    close(b.fd);
    return b.rc;
}

/* Called with the lock held: whoever wrote these is dead. */
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

static int build(const struct cache *c, const struct cache_config *config, struct err *e)
{
    char temporary[PATH_MAX], host[64] = "";

    gethostname(host, sizeof host - 1);
    snprintf(temporary, sizeof temporary, "%s/%.16s.tmp-%s-%ld", config->dir, config->key, host,
             (long)getpid());
    log_info("decoding %zu samples into %s", config->count, c->path);
    int rc = build_file(config, temporary, e);
    if (rc == 0 && rename(temporary, c->path))
        rc = set_write_error(c->path, e);
    if (rc)
        unlink(temporary);
    return rc;
}

static void lock_path(const struct cache_config *config, char dst[PATH_MAX])
{
    snprintf(dst, PATH_MAX, "%s/%.16s.lock", config->dir, config->key);
}

/* The lock's descriptor; -1 where the file system has none; -2 after an error. Waits for another
 * builder. */
static int take_lock(const struct cache_config *config, struct err *e)
{
    char path[PATH_MAX];
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};

    lock_path(config, path);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0) {
        set_write_error(path, e);
        return -2;
    }
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (is_interrupted(config)) {
            close(fd);
            err_set(e, ERR_INTERRUPT, "interrupted while another process decoded images");
            return -2;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            close(fd);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return fd;
}

/* Another builder may have removed the file that was locked, and a third one made it again. */
static bool is_current(const struct cache_config *config, int lock)
{
    char path[PATH_MAX];
    struct stat own, there;

    lock_path(config, path);
    return lock < 0 || (fstat(lock, &own) == 0 && stat(path, &there) == 0 &&
                        own.st_dev == there.st_dev && own.st_ino == there.st_ino);
}

static void release_lock(const struct cache_config *config, int lock)
{
    char path[PATH_MAX];

    lock_path(config, path);
    unlink(path);
    if (lock >= 0)
        close(lock);
}

static int open_or_build(struct cache *c, const struct cache_config *config, struct err *e)
{
    int lock, rc = use_file(c, config, e);

    if (rc <= 0)
        return rc;
    while ((lock = take_lock(config, e)) != -2 && !is_current(config, lock))
        close(lock);
    if (lock == -2)
        return -1;
    rc = use_file(c, config, e); /* somebody else may have made it meanwhile */
    if (rc == 1) {
        if (lock >= 0)
            remove_leftovers(config);
        rc = build(c, config, e) ? -1 : use_file(c, config, e);
        if (rc == 1)
            rc = err_set(e, ERR_DATA, "%s: can't be read back", c->path);
    }
    release_lock(config, lock);
    return rc;
}

static char *path_of(const struct cache_config *config)
{
    char *path;

    return asprintf(&path, "%s/%.16s.cache", config->dir, config->key) < 0 ? NULL : path;
}

struct cache *cache_open(const struct cache_config *config, struct err *e)
{
    struct cache *c = calloc(1, sizeof *c);

    if (c)
        c->path = path_of(config);
    if (!c || !c->path) {
        free(c);
        err_set(e, ERR_INTERNAL, "no memory for the cache of decoded images");
        return NULL;
    }
    bool made = mkdir(config->dir, 0777) == 0;
    if (!made && errno != EEXIST) {
        set_write_error(config->dir, e);
        cache_close(c);
        return NULL;
    }
    if (open_or_build(c, config, e)) {
        if (made)
            rmdir(config->dir); /* unless others work there */
        cache_close(c);
        return NULL;
    }
    return c;
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

bool cache_exists(const struct cache_config *config)
{
    size_t nbytes;
    char *path = path_of(config);
    const char *map = path ? map_file(path, &nbytes) : NULL;
    bool sound = map && is_sound(map, nbytes, config);

    if (map)
        munmap((void *)(uintptr_t)map, nbytes);
    free(path);
    return sound;
}

const void *cache_get(struct cache *c, size_t i, size_t *nbytes, struct err *e)
{
    const struct entry *entry = &c->index[i];
    const char *record = c->map + entry->offset;

    *nbytes = entry->nbytes;
    if (!atomic_load_explicit(&c->checked[i], memory_order_relaxed)) {
        if (crc_of(record, entry->nbytes) != entry->crc) {
            err_set(e, ERR_DATA, "%s: record %zu is damaged (CRC); remove the file, it is made "
                    "again", c->path, i);
            return NULL;
        }
        atomic_store_explicit(&c->checked[i], 1, memory_order_relaxed);
    }
    return record;
}
