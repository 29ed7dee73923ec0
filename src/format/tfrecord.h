/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of records as TensorFlow has them: length (8 bytes, little-endian), its masked CRC-32C,
 * the bytes, their masked CRC-32C. */
#ifndef UNETCTL_SRC_FORMAT_TFRECORD_H
#define UNETCTL_SRC_FORMAT_TFRECORD_H

#include <stdint.h>

#include "src/buf.h"
#include "src/err.h"

#define TFRECORD_HEAD 12 /* bytes before a record's own */
#define TFRECORD_TAIL 4  /* and behind */

/* One framed record, to be written at the end of a file. */
void tfrecord_encode(const void *data, size_t n, struct buf *dst);

/* Offset of each record in a file (of its frame), and its length. */
struct tfrecord_index {
    struct tfrecord_place {
        uint64_t offset, nbytes; /* of the record's own bytes */
    } *places;
    size_t count;
};

/* Reads all record headers and checks each length and its CRC. fd: open for reading; name: of
 * the file, for errors. ERR_DATA with the number of the record. */
int tfrecord_scan(int fd, const char *name, struct tfrecord_index *index, struct err *e);
void tfrecord_index_free(struct tfrecord_index *index);

/* The bytes of a record, malloc'ed, CRC checked; at most `limit` of them. */
uint8_t *tfrecord_read(int fd, const char *name, const struct tfrecord_index *index, size_t i,
                       size_t limit, struct err *e);

#endif
