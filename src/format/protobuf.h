/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire format of protocol buffers: varints and length-delimited fields, written and read by
 * hand (https://protobuf.dev/programming-guides/encoding/). Messages within messages
 * are fields of bytes. */
#ifndef UNETCTL_SRC_FORMAT_PROTOBUF_H
#define UNETCTL_SRC_FORMAT_PROTOBUF_H

#include <stdint.h>

#include "src/buf.h"

/* A negative number is its two's complement, as int64 has it: (uint64_t)number. */
void protobuf_add_varint(struct buf *dst, uint32_t field, uint64_t value);
void protobuf_add_bytes(struct buf *dst, uint32_t field, const void *data, size_t n);
void protobuf_add_text(struct buf *dst, uint32_t field, const char *text);
void protobuf_add_float(struct buf *dst, uint32_t field, float value);
void protobuf_add_double(struct buf *dst, uint32_t field, double value);

/* message becomes empty; a failure of its additions becomes one of dst. */
void protobuf_add_message(struct buf *dst, uint32_t field, struct buf *message);

enum protobuf_wire { PROTOBUF_VARINT = 0, PROTOBUF_64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_32 = 5 };

struct protobuf_field {
    uint32_t number;
    enum protobuf_wire wire;
    uint64_t value;       /* of varints and numbers of fixed size */
    const uint8_t *bytes; /* of PROTOBUF_BYTES: n of them, inside the message */
    size_t n;
};

struct protobuf_reader {
    const uint8_t *at, *end;
};

/* 1: the next field; 0: the message has ended; -1: it is malformed. No length is believed beyond
 * the end of the message. */
int protobuf_next(struct protobuf_reader *r, struct protobuf_field *field);

#endif
