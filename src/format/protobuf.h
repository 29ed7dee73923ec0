/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding/): encodes
 * and decodes varints, numbers of 4 and 8 bytes, and length-delimited fields. A nested message is
 * a field of bytes. */
#ifndef UNETCTL_SRC_FORMAT_PROTOBUF_H
#define UNETCTL_SRC_FORMAT_PROTOBUF_H

#include <stdint.h>

#include "src/buf.h"

/* Add one field each. A negative number is passed in two's complement: (uint64_t)number. */
void protobuf_add_varint(struct buf *dst, uint32_t field, uint64_t value);
void protobuf_add_bytes(struct buf *dst, uint32_t field, const void *data, size_t n);
void protobuf_add_text(struct buf *dst, uint32_t field, const char *text);
void protobuf_add_float(struct buf *dst, uint32_t field, float value);
void protobuf_add_double(struct buf *dst, uint32_t field, double value);

/* Adds a nested message, which becomes empty. If memory ran out for it, dst is marked as failed. */
void protobuf_add_message(struct buf *dst, uint32_t field, struct buf *message);

enum protobuf_wire { PROTOBUF_VARINT = 0, PROTOBUF_64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_32 = 5 };

struct protobuf_field {
    uint32_t number;
    enum protobuf_wire wire;
    uint64_t value;       /* of all types but PROTOBUF_BYTES; of a float or double, the bits */
    const uint8_t *bytes; /* of PROTOBUF_BYTES: n bytes inside the message */
    size_t n;
};

struct protobuf_reader {
    const uint8_t *at, *end;
};

/* Reads the next field. Returns 1, 0 at the end of the message, or -1 if the message is malformed
 * (such as a length that exceeds it) or has a group, an obsolete type of field. */
int protobuf_next(struct protobuf_reader *r, struct protobuf_field *field);

#endif
