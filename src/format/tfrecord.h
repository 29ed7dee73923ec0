/* SPDX-License-Identifier: BSD-3-Clause */
/* Protocol buffers and the record files of TensorFlow that hold them. */
#pragma once

#include "src/base.h"

/* CRC-32C (Castagnoli; RFC 3720, appendix B.4), as TFRecord files have it. */

/* Returns the CRC of more data. crc is 0 at first, then the previous result. */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);

/* Returns the form that TFRecord stores: rotated right by 15 bits, plus a constant. */
uint32_t crc32c_mask(uint32_t crc);

/* TensorFlow's record files. A record is framed by its length (8 bytes, little-endian), the
 * masked CRC-32C of the length, and, after its bytes, their masked CRC-32C. */
#define TFRECORD_HEAD 12 /* bytes of the frame before a record */
#define TFRECORD_TAIL 4  /* and after it */

/* Appends one framed record to dst. */
void tfrecord_encode(const void *data, size_t n, struct buf *dst);

/* Returns whether these bytes begin a framed record: the CRC of the length fits. */
bool tfrecord_begins(const unsigned char head[TFRECORD_HEAD]);

/* The frames of a file. */
struct tfrecord_index {
    struct tfrecord_place {
        uint64_t offset, nbytes; /* both of the record's bytes, without the frame */
    } *places;
    size_t count;
};

/* Reads all record headers and checks each length and its CRC. fd is open for reading; name
 * appears in errors. Returns 0, or -1 with ERR_DATA that has the number (from 0) of the bad
 * record. The caller frees index in either case. */
int tfrecord_scan(int fd, const char *name, struct tfrecord_index *index, struct err *e);
void tfrecord_index_free(struct tfrecord_index *index);

/* Returns the bytes of record i (from 0), which the caller frees, after a check of their CRC, or
 * NULL with ERR_DATA. Records of more than limit bytes are refused. */
uint8_t *tfrecord_read(int fd, const char *name, const struct tfrecord_index *index, size_t i,
                       size_t limit, struct err *e);

/* The wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding/): encodes
 * and decodes varints, numbers of 4 and 8 bytes, and length-delimited fields. A nested message is
 * a field of bytes. */

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
