/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/sha256.h"

#include "t/tap.h"

/* RFC 4231, test cases 1, 2 and 3. */
static void check_sign(void)
{
    unsigned char key_bytes[20], got[HMAC_SIZE], other[HMAC_SIZE], data[50];
    struct hmac_part there = {"Hi There", 8};
    struct hmac_part parts[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
    static const unsigned char first[] = "\xb0\x34\x4c\x61\xd8\xdb\x38\x53\x5c\xa8\xaf\xce\xaf\x0b"
                                         "\xf1\x2b\x88\x1d\xc2\x00\xc9\x83\x3d\xa7\x26\xe9\x37\x6c"
                                         "\x2e\x32\xcf\xf7";
    static const unsigned char second[] = "\x5b\xdc\xc1\x46\xbf\x60\x75\x4e\x6a\x04\x24\x26\x08\x95"
                                          "\x75\xc7\x5a\x00\x3f\x08\x9d\x27\x39\x83\x9d\xec\x58\xb9"
                                          "\x64\xec\x38\x43";
    static const unsigned char third[] = "\x77\x3e\xa9\x1e\x36\x80\x0e\x46\x85\x4d\xb8\xeb\xd0\x91"
                                         "\x81\xa7\x29\x59\x09\x8b\x3e\xf8\xc1\x22\xd9\x63\x55\x14"
                                         "\xce\xd5\x65\xfe";
    struct hmac_sha256_ctx key;

    memset(key_bytes, 0x0b, sizeof key_bytes);
    hmac_sha256_set_key(&key, sizeof key_bytes, key_bytes);
    hmac_sign(&key, &there, 1, got);
    ok(memeql_sec(got, first, HMAC_SIZE), "RFC 4231, 1");
    hmac_sign(&key, &there, 1, got);
    ok(memeql_sec(got, first, HMAC_SIZE), "a key can be used again");
    hmac_sha256_set_key(&key, 4, (const uint8_t *)"Jefe");
    hmac_sign(&key, parts, 2, got);
    ok(memeql_sec(got, second, HMAC_SIZE), "RFC 4231, 2, in two parts");
    memset(key_bytes, 0xaa, sizeof key_bytes);
    memset(data, 0xdd, sizeof data);
    hmac_sha256_set_key(&key, sizeof key_bytes, key_bytes);
    hmac_sign(&key, &(struct hmac_part){data, sizeof data}, 1, got);
    ok(memeql_sec(got, third, HMAC_SIZE), "RFC 4231, 3");
    memcpy(other, got, sizeof other);
    other[HMAC_SIZE - 1] ^= 1;
    ok(!memeql_sec(got, other, HMAC_SIZE), "codes that differ in one bit are not the same");
}

int main(void)
{
    check_sign();
    return done_testing();
}
