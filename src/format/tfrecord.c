/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/tfrecord.h"

#include <pthread.h>
#include <sys/stat.h>

#define POLYNOMIAL 0x82f63b78u /* bits reversed */

/* table[k][b] is the CRC of byte b followed by k zero bytes, so that eight bytes are processed
 * at once. */
static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        table[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
    const unsigned char *p = data;

    pthread_once(&once, fill_table);
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8)
        crc = table[7][(crc ^ p[0]) & 255] ^ table[6][(crc >> 8 ^ p[1]) & 255] ^
              table[5][(crc >> 16 ^ p[2]) & 255] ^ table[4][crc >> 24 ^ p[3]] ^ table[3][p[4]] ^
              table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    for (; n > 0; n--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}

uint32_t crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* ---- records ---- */

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

/* ---- protocol buffers ---- */

static void add_varint(struct buf *dst, uint64_t v)
{
    unsigned char bytes[10];
    size_t n = 0;

    do {
        bytes[n] = (unsigned char)(v & 127);
        v >>= 7;
        bytes[n++] |= v ? 128 : 0;
    } while (v);
    buf_add_bytes(dst, bytes, n);
}

static void add_tag(struct buf *dst, uint32_t field, enum protobuf_wire wire)
{
    add_varint(dst, (uint64_t)field << 3 | wire);
}

void protobuf_add_varint(struct buf *dst, uint32_t field, uint64_t value)
{
    add_tag(dst, field, PROTOBUF_VARINT);
    add_varint(dst, value);
}

void protobuf_add_bytes(struct buf *dst, uint32_t field, const void *data, size_t n)
{
    add_tag(dst, field, PROTOBUF_BYTES);
    add_varint(dst, n);
    if (n)
        buf_add_bytes(dst, data, n);
}

void protobuf_add_text(struct buf *dst, uint32_t field, const char *text)
{
    protobuf_add_bytes(dst, field, text, strlen(text));
}

static void add_fixed(struct buf *dst, uint64_t v, size_t n)
{
    unsigned char bytes[8];

    put_little_endian(v, n, bytes);
    buf_add_bytes(dst, bytes, n);
}

void protobuf_add_float(struct buf *dst, uint32_t field, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    add_tag(dst, field, PROTOBUF_32);
    add_fixed(dst, bits, 4);
}

void protobuf_add_double(struct buf *dst, uint32_t field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    add_tag(dst, field, PROTOBUF_64);
    add_fixed(dst, bits, 8);
}

void protobuf_add_message(struct buf *dst, uint32_t field, struct buf *message)
{
    protobuf_add_bytes(dst, field, message->data, message->length);
    dst->failed = dst->failed || message->failed;
    buf_destroy(message);
}

static int read_varint(struct protobuf_reader *r, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        if (shift == 63 && byte > 1)
            return -1;
        *v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return 0;
    }
    return -1;
}

static int read_fixed(struct protobuf_reader *r, size_t n, uint64_t *v)
{
    if ((size_t)(r->end - r->at) < n)
        return -1;
    *v = get_little_endian(r->at, n);
    r->at += n;
    return 0;
}

static int read_bytes(struct protobuf_reader *r, struct protobuf_field *f)
{
    uint64_t n;

    if (read_varint(r, &n) || n > (uint64_t)(r->end - r->at))
        return -1;
    f->bytes = r->at;
    f->n = (size_t)n;
    r->at += n;
    return 0;
}

int protobuf_next(struct protobuf_reader *r, struct protobuf_field *f)
{
    uint64_t tag;
    int rc;

    if (r->at == r->end)
        return 0;
    if (read_varint(r, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
        return -1;
    *f = (struct protobuf_field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
    switch (f->wire) {
    case PROTOBUF_VARINT: rc = read_varint(r, &f->value); break;
    case PROTOBUF_64: rc = read_fixed(r, 8, &f->value); break;
    case PROTOBUF_BYTES: rc = read_bytes(r, f); break;
    case PROTOBUF_32: rc = read_fixed(r, 4, &f->value); break;
    default: return -1; /* groups, which are obsolete */
    }
    return rc ? -1 : 1;
}
