/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/rendezvous/channel.h"

#include <string.h>

/* What begins the input of every HMAC under a direction's key. `what` separates its two uses. */
enum channel_use { CHANNEL_CODE = 1, CHANNEL_STREAM = 2 };

struct prefix {
    uint64_t place;
    uint32_t what;   /* enum channel_use */
    uint32_t number; /* of the keystream's block; for CHANNEL_CODE the payload's length */
};

static void init_direction(struct channel_direction *d, const struct hmac_sha256_ctx *token,
                           const char *label, const struct channel_origin *origin)
{
    unsigned char bytes[HMAC_SIZE];
    struct hmac_part parts[] = {{label, strlen(label) + 1},
                                {&origin->mark, sizeof origin->mark},
                                {&origin->rank, sizeof origin->rank},
                                {origin->host_nonce, CHANNEL_NONCE},
                                {origin->rank_nonce, CHANNEL_NONCE}};

    hmac_sign(token, parts, sizeof parts / sizeof *parts, bytes);
    hmac_sha256_set_key(&d->key, sizeof bytes, bytes);
    d->place = 0;
}

void channel_init(struct channel *c, const unsigned char token[TOKEN_SIZE],
                  const struct channel_origin *origin, bool is_host)
{
    struct hmac_sha256_ctx key;

    hmac_sha256_set_key(&key, TOKEN_SIZE, token);
    init_direction(is_host ? &c->out : &c->in, &key, "unetctl rendezvous, rank 0 to rank", origin);
    init_direction(is_host ? &c->in : &c->out, &key, "unetctl rendezvous, rank to rank 0", origin);
}

static void add_keystream(const struct channel_direction *d, unsigned char *data, size_t nbytes)
{
    struct prefix p = {.place = d->place, .what = CHANNEL_STREAM};
    unsigned char block[HMAC_SIZE];

    for (size_t at = 0; at < nbytes; at += HMAC_SIZE, p.number++) {
        hmac_sign(&d->key, &(struct hmac_part){&p, sizeof p}, 1, block);
        for (size_t i = 0; i < HMAC_SIZE && at + i < nbytes; i++)
            data[at + i] ^= block[i];
    }
}

static void sign_frame(const struct channel_direction *d, const unsigned char *frame,
                       size_t npayload, unsigned char dst[HMAC_SIZE])
{
    struct prefix p = {.place = d->place, .what = CHANNEL_CODE, .number = (uint32_t)npayload};
    struct hmac_part parts[] = {{&p, sizeof p}, {frame + CHANNEL_HEAD, npayload}};

    hmac_sign(&d->key, parts, 2, dst);
}

size_t channel_seal(struct channel *c, const void *head, size_t nhead, const void *body,
                    size_t nbody, unsigned char *dst)
{
    uint32_t length = (uint32_t)(nhead + nbody);

    memcpy(dst, &length, sizeof length);
    memcpy(dst + CHANNEL_HEAD, head, nhead);
    if (nbody)
        memcpy(dst + CHANNEL_HEAD + nhead, body, nbody);
    add_keystream(&c->out, dst + CHANNEL_HEAD, length);
    sign_frame(&c->out, dst, length, dst + CHANNEL_HEAD + length);
    c->out.place++;
    return CHANNEL_OVERHEAD + length;
}

size_t channel_frame_size(const unsigned char *frame)
{
    uint32_t length;

    memcpy(&length, frame, sizeof length);
    return CHANNEL_OVERHEAD + (size_t)length;
}

int channel_unseal(struct channel *c, unsigned char *frame, size_t nbytes)
{
    unsigned char code[HMAC_SIZE];
    size_t npayload = nbytes - CHANNEL_OVERHEAD;

    sign_frame(&c->in, frame, npayload, code);
    if (!memeql_sec(code, frame + CHANNEL_HEAD + npayload, HMAC_SIZE))
        return -1;
    add_keystream(&c->in, frame + CHANNEL_HEAD, npayload);
    c->in.place++;
    return 0;
}
