/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/export/protobuf.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static void add_varint(struct buf *b, uint64_t v)
{
    unsigned char bytes[10];
    size_t n = 0;

    do {
        bytes[n] = (unsigned char)(v & 127);
        v >>= 7;
        if (v)
            bytes[n] |= 128;
        n++;
    } while (v);
    buf_add_bytes(b, bytes, n);
}

static void add_key(struct buf *b, int field, int wire)
{
    add_varint(b, (uint64_t)field << 3 | (uint64_t)wire);
}

void protobuf_int(struct buf *b, int field, int64_t v)
{
    add_key(b, field, WIRE_VARINT);
    add_varint(b, (uint64_t)v);
}

void protobuf_float(struct buf *b, int field, float v)
{
    add_key(b, field, WIRE_32);
    buf_add_bytes(b, &v, sizeof v);
}

void protobuf_double(struct buf *b, int field, double v)
{
    add_key(b, field, WIRE_64);
    buf_add_bytes(b, &v, sizeof v);
}

void protobuf_bytes(struct buf *b, int field, const void *data, size_t n)
{
    add_key(b, field, WIRE_BYTES);
    add_varint(b, n);
    buf_add_bytes(b, data, n);
}

void protobuf_string(struct buf *b, int field, const char *text)
{
    protobuf_bytes(b, field, text, strlen(text));
}

void protobuf_message(struct buf *b, int field, struct buf *message)
{
    protobuf_bytes(b, field, message->data ? message->data : "", message->length);
    b->failed = b->failed || message->failed;
    buf_destroy(message);
    *message = (struct buf){0};
}
