/* SPDX-License-Identifier: BSD-3-Clause */
/* Authenticated and encrypted messages between rank 0 and one other rank. Each direction of each
 * connection has its own key, derived from the run's token, the version of the protocol, the rank
 * and a nonce of both sides. A message of another run, connection, direction or place in the
 * sequence, or one that was changed, does not open.
 *
 * A frame is its payload's length (32 bits), and the payload and its code by ChaCha20-Poly1305 (RFC
 * 8439, by nettle). The key is that of the direction, the nonce the message's number in it (64
 * bits) and four zeros:
 *
 *   key = HMAC(token, label of the direction, mark, rank, rank 0's nonce, rank's nonce)
 *
 * Numbers are in the machine's byte order. Dropped frames are noticed at the next one. */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_CHANNEL_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "src/format/sha256.h"
#include "src/run/marker.h"

#define CHANNEL_NONCE 32
#define CHANNEL_HEAD 4 /* bytes of a frame before its payload */
#define CHANNEL_CODE 16
#define CHANNEL_OVERHEAD (CHANNEL_HEAD + CHANNEL_CODE)

/* What the keys are derived from, beside the token. */
struct channel_origin {
    uint64_t mark; /* names the protocol and its version */
    int64_t rank;  /* the one that is connected to rank 0 */
    unsigned char host_nonce[CHANNEL_NONCE], rank_nonce[CHANNEL_NONCE];
};

struct channel_direction {
    unsigned char key[HMAC_SIZE];
    uint64_t place; /* of the next message */
};

/* Both directions are independent: one thread may send while another receives. */
struct channel {
    struct channel_direction out, in;
};

/* is_host: this process is rank 0. */
void channel_init(struct channel *c, const unsigned char token[TOKEN_SIZE],
                  const struct channel_origin *origin, bool is_host);

/* Writes a frame with the payload, which consists of two parts (the second may be empty), to dst,
 * which has room for CHANNEL_OVERHEAD bytes more. Returns the frame's size. */
size_t channel_seal(struct channel *c, const void *head, size_t nhead, const void *body,
                    size_t nbody, unsigned char *dst);

/* Returns the size of a frame that begins with these CHANNEL_HEAD bytes. It is not authenticated
 * and must be compared with a bound. */
size_t channel_frame_size(const unsigned char *frame);

/* Decrypts the payload in place, behind the frame's first CHANNEL_HEAD bytes. nbytes must be
 * channel_frame_size. Returns 0, or -1 if the frame, whose payload is then garbled, is not the next
 * one of the other side. */
int channel_unseal(struct channel *c, unsigned char *frame, size_t nbytes);

#endif
