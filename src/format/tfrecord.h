/* SPDX-License-Identifier: BSD-3-Clause */
/* TensorFlow's record files. A record is framed by its length (8 bytes, little-endian), the
 * masked CRC-32C of the length, and, after its bytes, their masked CRC-32C. */
#ifndef UNETCTL_SRC_FORMAT_TFRECORD_H
#define UNETCTL_SRC_FORMAT_TFRECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/buf.h"
#include "src/err.h"

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

#endif
