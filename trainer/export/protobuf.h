/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding/), as far as
 * writing needs it. */
#ifndef UNETCTL_TRAINER_EXPORT_PROTOBUF_H
#define UNETCTL_TRAINER_EXPORT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "src/buf.h"

void protobuf_int(struct buf *b, int field, int64_t v);
void protobuf_float(struct buf *b, int field, float v);
void protobuf_double(struct buf *b, int field, double v);
void protobuf_string(struct buf *b, int field, const char *text);
void protobuf_bytes(struct buf *b, int field, const void *data, size_t n);

/* message becomes empty; a failure of its additions becomes one of b. */
void protobuf_message(struct buf *b, int field, struct buf *message);

#endif
