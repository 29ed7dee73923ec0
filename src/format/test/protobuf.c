/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoded fields are compared with their bytes, most of them from the format's documentation. */
#include "src/base.h"
#include "src/format/tfrecord.h"

#include "t/tap.h"

static void check(struct buf *b, const char *want, size_t n, const char *what)
{
    ok(!b->failed && b->length == n && memcmp(b->data, want, n) == 0, "%s", what);
    buf_destroy(b);
    *b = (struct buf){0};
}

int main(void)
{
    struct buf b = {0}, inner = {0};

    protobuf_add_varint(&b, 1, 150);
    check(&b, "\x08\x96\x01", 3, "field 1, 150");
    protobuf_add_varint(&b, 1, (uint64_t)-2);
    check(&b, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
          "a negative number has ten bytes");
    protobuf_add_text(&b, 2, "testing");
    check(&b, "\x12\x07testing", 9, "field 2, \"testing\"");
    protobuf_add_varint(&inner, 1, 150);
    protobuf_add_message(&b, 3, &inner);
    check(&b, "\x1a\x03\x08\x96\x01", 5, "a message within field 3");
    ok(inner.length == 0, "a nested message is empty after it was added");
    protobuf_add_float(&b, 4, 1);
    check(&b, "\x25\x00\x00\x80\x3f", 5, "a float");
    protobuf_add_double(&b, 16, 1);
    check(&b, "\x81\x01\x00\x00\x00\x00\x00\x00\xf0\x3f", 10, "a double, in a field above 15");
    return done_testing();
}
