/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/sha256.h"

#include "t/tap.h"

/* FIPS 180-4 examples and the NIST test vectors. */
static const struct {
    const char *text, *want;
} table[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
     "lmnopqrsmnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};
static const char million[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

int main(void)
{
    char hex[65], path[] = "/tmp/unetctl-sha256.XXXXXX";
    struct sha256_ctx s;
    struct err e;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        sha256_init(&s);
        sha256_add(&s, table[i].text, strlen(table[i].text));
        sha256_finish(&s, hex);
        is_str(hex, table[i].want, "%zu bytes", strlen(table[i].text));
    }
    FILE *f = fdopen(mkstemp(path), "w");
    if (!f)
        bail_out("no temporary file");
    sha256_init(&s);
    for (int left = 1000000, piece = 1; left > 0; left -= piece, piece = piece % 200 + 1) {
        char block[200];
        piece = piece < left ? piece : left;
        memset(block, 'a', sizeof block);
        sha256_add(&s, block, (size_t)piece);
        fwrite(block, 1, (size_t)piece, f);
    }
    fclose(f);
    sha256_finish(&s, hex);
    is_str(hex, million, "a million bytes in pieces of 1 to 200");
    ok(sha256_file(path, hex, &e) == 0, "a file is hashed");
    is_str(hex, million, "it has the same hash");
    unlink(path);
    ok(sha256_file(path, hex, &e) == -1 && e.code == ERR_DATA, "%s", e.text);
    ok(sha256_file("/tmp", hex, &e) == -1 && e.code == ERR_DATA, "%s", e.text);
    return done_testing();
}
