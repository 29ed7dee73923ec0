/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/format/protobuf.h"

#include <string.h>

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

static void add_fixed(struct buf *dst, uint64_t v, int n)
{
    unsigned char bytes[8];

    for (int i = 0; i < n; i++)
        bytes[i] = (unsigned char)(v >> 8 * i);
    buf_add_bytes(dst, bytes, (size_t)n);
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
    *message = (struct buf){0};
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
    *v = 0;
    for (size_t i = 0; i < n; i++)
        *v |= (uint64_t)r->at[i] << 8 * i;
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
