/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/rendezvous/channel.h"

#include <nettle/chacha-poly1305.h>
#include <nettle/version.h>
#include <string.h>

static void init_direction(struct channel_direction *d, const struct hmac_sha256_ctx *token,
                           const char *label, const struct channel_origin *origin)
{
    struct hmac_part parts[] = {{label, strlen(label) + 1},
                                {&origin->mark, sizeof origin->mark},
                                {&origin->rank, sizeof origin->rank},
                                {origin->host_nonce, CHANNEL_NONCE},
                                {origin->rank_nonce, CHANNEL_NONCE}};

    hmac_sign(token, parts, sizeof parts / sizeof *parts, d->key);
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

static void begin_message(struct chacha_poly1305_ctx *ctx, const struct channel_direction *d)
{
    unsigned char nonce[CHACHA_POLY1305_NONCE_SIZE] = {0};

    memcpy(nonce, &d->place, sizeof d->place);
    chacha_poly1305_set_key(ctx, d->key);
    chacha_poly1305_set_nonce(ctx, nonce);
}

static void finish_message(struct chacha_poly1305_ctx *ctx, unsigned char code[CHANNEL_CODE])
{
#if NETTLE_VERSION_MAJOR < 4
    chacha_poly1305_digest(ctx, CHANNEL_CODE, code);
#else
    chacha_poly1305_digest(ctx, code);
#endif
}

size_t channel_seal(struct channel *c, const void *head, size_t nhead, const void *body,
                    size_t nbody, unsigned char *dst)
{
    uint32_t length = (uint32_t)(nhead + nbody);
    unsigned char *payload = dst + CHANNEL_HEAD;
    struct chacha_poly1305_ctx ctx;

    memcpy(dst, &length, sizeof length);
    memcpy(payload, head, nhead);
    if (nbody)
        memcpy(payload + nhead, body, nbody);
    begin_message(&ctx, &c->out);
    chacha_poly1305_encrypt(&ctx, length, payload, payload);
    finish_message(&ctx, payload + length);
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
    unsigned char code[CHANNEL_CODE], *payload = frame + CHANNEL_HEAD;
    size_t npayload = nbytes - CHANNEL_OVERHEAD;
    struct chacha_poly1305_ctx ctx;

    begin_message(&ctx, &c->in);
    chacha_poly1305_decrypt(&ctx, npayload, payload, payload);
    finish_message(&ctx, code);
    if (!memeql_sec(code, payload + npayload, CHANNEL_CODE))
        return -1;
    c->in.place++;
    return 0;
}
