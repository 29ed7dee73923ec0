/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/format/tfrecord.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/format/crc32c.h"

static void put_little_endian(uint64_t v, size_t n, unsigned char *dst)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t get_little_endian(const unsigned char *src, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)src[i] << 8 * i;
    return v;
}

void tfrecord_encode(const void *data, size_t n, struct buf *dst)
{
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];

    put_little_endian(n, 8, head);
    put_little_endian(crc32c_mask(crc32c(0, head, 8)), 4, head + 8);
    put_little_endian(crc32c_mask(crc32c(0, data, n)), 4, tail);
    buf_add_bytes(dst, head, sizeof head);
    buf_add_bytes(dst, data, n);
    buf_add_bytes(dst, tail, sizeof tail);
}

/* Reads exactly n bytes. Returns 0, or -1 if there are fewer. */
static int read_at(int fd, void *dst, size_t n, uint64_t offset)
{
    char *p = dst;

    while (n > 0) {
        ssize_t got = pread(fd, p, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        p += got;
        n -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

static int add_place(struct tfrecord_index *index, uint64_t offset, uint64_t nbytes)
{
    size_t n = index->count;

    if ((n & (n - 1)) == 0) { /* the capacity doubles at each power of two */
        struct tfrecord_place *places = realloc(index->places, (n ? 2 * n : 1) * sizeof *places);
        if (!places)
            return -1;
        index->places = places;
    }
    index->places[index->count++] = (struct tfrecord_place){offset, nbytes};
    return 0;
}

bool tfrecord_begins(const unsigned char head[TFRECORD_HEAD])
{
    return get_little_endian(head + 8, 4) == crc32c_mask(crc32c(0, head, 8));
}

int tfrecord_scan(int fd, const char *name, struct tfrecord_index *index, struct err *e)
{
    unsigned char head[TFRECORD_HEAD];
    struct stat st;

    *index = (struct tfrecord_index){0};
    if (fstat(fd, &st) || st.st_size < 0)
        return err_errno(e, ERR_DATA, errno, "%s", name);
    for (uint64_t at = 0, end = (uint64_t)st.st_size, n; at < end;
         at += TFRECORD_HEAD + n + TFRECORD_TAIL) {
        if (end - at < TFRECORD_HEAD + TFRECORD_TAIL || read_at(fd, head, sizeof head, at))
            return err_set(e, ERR_DATA, "%s ends inside record %zu", name, index->count);
        n = get_little_endian(head, 8);
        if (!tfrecord_begins(head))
            return err_set(e, ERR_DATA, "%s: the length of record %zu is damaged (CRC), or this is "
                           "not a TFRecord file", name, index->count);
        if (n > end - at - TFRECORD_HEAD - TFRECORD_TAIL)
            return err_set(e, ERR_DATA, "%s ends inside record %zu", name, index->count);
        if (add_place(index, at + TFRECORD_HEAD, n))
            return err_set(e, ERR_INTERNAL, "%s: out of memory", name);
    }
    return 0;
}

void tfrecord_index_free(struct tfrecord_index *index)
{
    free(index->places);
    *index = (struct tfrecord_index){0};
}

uint8_t *tfrecord_read(int fd, const char *name, const struct tfrecord_index *index, size_t i,
                       size_t limit, struct err *e)
{
    const struct tfrecord_place *place = &index->places[i];
    unsigned char tail[TFRECORD_TAIL];

    if (place->nbytes > limit) {
        err_set(e, ERR_DATA, "%s: record %zu has %llu bytes, more than the limit", name, i,
                (unsigned long long)place->nbytes);
        return NULL;
    }
    uint8_t *bytes = malloc(place->nbytes ? place->nbytes : 1);
    if (!bytes)
        err_set(e, ERR_DATA, "%s: out of memory for record %zu", name, i);
    else if (read_at(fd, bytes, place->nbytes, place->offset) ||
             read_at(fd, tail, sizeof tail, place->offset + place->nbytes))
        err_set(e, ERR_DATA, "%s ends inside record %zu", name, i);
    else if (get_little_endian(tail, 4) != crc32c_mask(crc32c(0, bytes, place->nbytes)))
        err_set(e, ERR_DATA, "%s: record %zu is damaged (CRC)", name, i);
    else
        return bytes;
    free(bytes);
    return NULL;
}
