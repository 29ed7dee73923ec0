/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"

#include "t/tap.h"

int main(void)
{
    struct buf b = {0};
    char *text;

    buf_add(&b, "a");
    buf_addf(&b, "%d-%s", 42, "b");
    buf_add_bytes(&b, "cd", 1);
    is_str(b.data, "a42-bc", "pieces are added in order");
    is_int(b.length, 6, "the length is counted");
    text = buf_steal(&b);
    is_str(text, "a42-bc", "steal returns the text");
    ok(b.data == NULL && b.length == 0 && b.capacity == 0, "steal leaves an empty buffer");
    free(text);

    text = buf_steal(&b);
    is_str(text, "", "stealing from an empty buffer gives an empty text");
    free(text);

    buf_add_json_string(&b, "q\" b\\ n\n t\t \x01 \x7f \xc3\xa9");
    is_str(b.data, "\"q\\\" b\\\\ n\\n t\\t \\u0001 \\u007f \xc3\xa9\"", "JSON escapes");
    buf_destroy(&b);
    buf_add_json_string(&b, "");
    is_str(b.data, "\"\"", "the empty JSON string");
    buf_destroy(&b);

    for (int i = 0; i < 10000; i++)
        buf_addf(&b, "%04d", i);
    ok(!b.failed && b.length == 40000 && memcmp(b.data + 39992, "99989999", 9) == 0,
       "10000 additions are kept");

    ok(buf_reserve(&b, SIZE_MAX - 8) == NULL && b.failed, "an impossible size fails");
    buf_add(&b, "x");
    is_int(b.length, 40000, "nothing is added after a failure");
    ok(buf_steal(&b) == NULL, "the failure is reported at the end");
    ok(!b.failed && b.data == NULL, "the buffer can be used again after that");
    buf_destroy(NULL);
    return done_testing();
}
