/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/format/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void expand_block(const unsigned char *block, uint32_t w[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

static void compress_plainly(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], v[8];

    expand_block(block, w);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + constants[i] + w[i];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        for (int k = 7; k > 0; k--)
            v[k] = v[k - 1];
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

static bool plain; /* set by sha256_use_instructions */

void sha256_use_instructions(bool use)
{
    plain = !use;
}

#ifdef __x86_64__
/* Does the processor have the SHA extensions, and SSSE3 and SSE4.1, which are needed beside
 * them? */
static bool has_instructions(void)
{
    unsigned a, b, c, d, extended = 0, known = 0;

    if (__get_cpuid(1, &a, &b, &c, &d))
        known = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        extended = b;
    return (extended & bit_SHA) && (known & bit_SSSE3) && (known & bit_SSE4_1);
}

/* sha256rnds2 expects the words in the orders f e b a and h g d c, lowest first, and does two
 * rounds. Words 4 i ... 4 i + 3 of the message schedule replace those of 16 rounds earlier. */
__attribute__((target("sha,ssse3,sse4.1"))) static void compress_fast(uint32_t state[8],
                                                                      const unsigned char *block)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i feba = _mm_alignr_epi8(low, high, 8), hgdc = _mm_blend_epi16(high, low, 0xf0);
    __m128i first = feba, second = hgdc, w[4];

    for (int i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), swap);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        __m128i *now = &w[i % 4], *last = &w[(i + 3) % 4];
        __m128i sum = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)(constants + 4 * i)));

        hgdc = _mm_sha256rnds2_epu32(hgdc, feba, sum);
        feba = _mm_sha256rnds2_epu32(feba, hgdc, _mm_shuffle_epi32(sum, 0x0e));
        *now = _mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) % 4]),
                             _mm_alignr_epi8(*last, w[(i + 2) % 4], 4));
        *now = _mm_sha256msg2_epu32(*now, *last);
    }
    feba = _mm_shuffle_epi32(_mm_add_epi32(feba, first), 0x1b);
    hgdc = _mm_shuffle_epi32(_mm_add_epi32(hgdc, second), 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, hgdc, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(hgdc, feba, 8));
}

/* Several threads may detect the instructions at the same time; they get the same result. */
static void compress_block(uint32_t state[8], const unsigned char *block)
{
    static _Atomic int fast = -1;

    if (fast < 0)
        fast = has_instructions();
    if (fast && !plain)
        compress_fast(state, block);
    else
        compress_plainly(state, block);
}
#else
static void compress_block(uint32_t state[8], const unsigned char *block)
{
    compress_plainly(state, block);
}
#endif

void sha256_init(struct sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, start, sizeof start);
    s->length = 0;
}

void sha256_add(struct sha256 *s, const void *data, size_t n)
{
    const unsigned char *p = data;

    while (n > 0) {
        size_t used = s->length % 64, part = 64 - used < n ? 64 - used : n;
        if (part == 64) {
            compress_block(s->state, p);
        } else {
            memcpy(s->block + used, p, part);
            if (used + part == 64)
                compress_block(s->state, s->block);
        }
        s->length += part;
        p += part;
        n -= part;
    }
}

void sha256_digest(struct sha256 *s, unsigned char dst[32])
{
    static const unsigned char padding[64] = {0x80};
    uint64_t bits = s->length * 8;
    unsigned char length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, padding, 1 + (119 - s->length % 64) % 64);
    sha256_add(s, length, 8);
    for (int i = 0; i < 32; i++)
        dst[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_finish(struct sha256 *s, char hex[65])
{
    unsigned char digest[32];

    sha256_digest(s, digest);
    for (int i = 0; i < 32; i++)
        sprintf(hex + 2 * i, "%02x", digest[i]);
}

void sha256_bytes(const void *data, size_t n, char hex[65])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, data, n);
    sha256_finish(&s, hex);
}

int sha256_file(const char *path, char hex[65], struct err *e)
{
    struct sha256 s;
    struct stat st;
    unsigned char block[16384];
    ssize_t n;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return err_errno(e, ERR_DATA, errno, "cannot read %s", path);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return err_set(e, ERR_DATA, "cannot read %s: not a regular file", path);
    }
    sha256_init(&s);
    while ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))
        sha256_add(&s, block, n > 0 ? (size_t)n : 0);
    int saved = errno;
    close(fd);
    if (n < 0)
        return err_errno(e, ERR_DATA, saved, "cannot read %s", path);
    sha256_finish(&s, hex);
    return 0;
}
