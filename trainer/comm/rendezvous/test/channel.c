/* SPDX-License-Identifier: BSD-3-Clause */
/* What opens a frame, and what does not. */
#include "src/base.h"
#include "trainer/comm/rendezvous/rendezvous.h"

#include "t/tap.h"

#define TEXT "nothing of this is readable"
#define SIZE (CHANNEL_OVERHEAD + sizeof TEXT)

static unsigned char token[TOKEN_SIZE] = {1};
static struct channel_origin origin = {.mark = 2, .rank = 3, .host_nonce = {4}, .rank_nonce = {5}};
static struct channel host, rank;
static unsigned char frame[2 * SIZE];

static void begin(void)
{
    channel_init(&host, token, &origin, true);
    channel_init(&rank, token, &origin, false);
}

static void seal(struct channel *c)
{
    is_int(channel_seal(c, TEXT, 8, &TEXT[8], sizeof TEXT - 8, frame), SIZE, "a frame's size");
}

static bool opens(struct channel *c, const unsigned char *of)
{
    unsigned char copy[SIZE];

    memcpy(copy, of, SIZE);
    return channel_frame_size(copy) == SIZE && channel_unseal(c, copy, SIZE) == 0 &&
           memcmp(copy + CHANNEL_HEAD, TEXT, sizeof TEXT) == 0;
}

static void check_order(void)
{
    unsigned char first[SIZE];

    begin();
    seal(&rank);
    memcpy(first, frame, SIZE);
    seal(&rank);
    ok(!memmem(first, SIZE, TEXT, 4), "a frame does not show its payload");
    ok(memcmp(first, frame, SIZE) != 0, "equal payloads have unequal frames");
    ok(!opens(&host, frame), "the second frame does not open first");
    ok(opens(&host, first) && opens(&host, frame), "both open in order");
    ok(!opens(&host, frame) && !opens(&host, first), "a replayed frame does not open");
    seal(&rank);
    ok(opens(&host, frame), "the next one opens in spite of all these");
    begin();
    seal(&rank);
    ok(!opens(&rank, frame), "a reflected frame does not open");
}

static void check_bits(void)
{
    int nopened = 0;

    begin();
    seal(&host);
    for (size_t bit = 8 * CHANNEL_HEAD; bit < 8 * SIZE; bit++) {
        frame[bit / 8] ^= (unsigned char)(1 << bit % 8);
        nopened += opens(&rank, frame);
        frame[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    is_int(nopened, 0, "a frame with a changed bit does not open");
    channel_seal(&host, "", 1, NULL, 0, frame);
    frame[0] ^= 2; /* its length; the payload lacks bytes or has too many */
    ok(channel_unseal(&rank, frame, channel_frame_size(frame)) < 0,
       "a frame with another length does not open");
}

/* Checks that a channel of the changed token or origin does not open a frame of the unchanged. */
static void check_other(void *what, const char *name)
{
    struct channel other;

    begin();
    seal(&host);
    *(unsigned char *)what ^= 1;
    channel_init(&other, token, &origin, false);
    ok(!opens(&other, frame), "a channel of another %s does not open it", name);
    *(unsigned char *)what ^= 1;
    ok(opens(&rank, frame), "its own channel does");
}

/* A frame that another implementation of the format has made (comm/rendezvous/rendezvous.h). */
static void check_format(void)
{
    static const unsigned char known[] =
        "\x24\x00\x00\x00\x48\x6c\x22\xb9\xb8\xee\x39\x02\xd2\x84\x8d\xb9\x91\xf1\xa6\xdd"
        "\x8f\x17\x7e\xe8\xd2\x80\x3d\x99\xc1\x71\xd4\x89\x84\x9f\x6e\x36\x33\x8e\x20\x32"
        "\xd9\x8a\x85\x1f\x2d\x0f\xae\xf1\x56\x98\xd5\xe4\x04\xa6\x33\xf8";
    uint32_t one = 1;

    if (*(unsigned char *)&one != 1) {
        ok(true, "known frame # SKIP big-endian machine");
        return;
    }
    begin();
    channel_seal(&host, "ab", 2, NULL, 0, frame);
    channel_seal(&host, "0123456789", 10, "abcdefghijklmnopqrstuvwxyz", 26, frame);
    ok(memcmp(frame, known, CHANNEL_OVERHEAD + 36) == 0, "frames keep their format");
}

int main(void)
{
    check_order();
    check_bits();
    check_other(token + 31, "token");
    check_other(&origin.mark, "version");
    check_other(&origin.rank, "rank");
    check_other(origin.host_nonce + 31, "nonce of rank 0");
    check_other(origin.rank_nonce + 31, "nonce of the rank");
    check_format();
    return done_testing();
}
