/* SPDX-License-Identifier: BSD-3-Clause */
/* What both sides of the rendezvous share: its messages, and the file with the port. */
#pragma once

#include "trainer/comm/rendezvous/rendezvous.h"

/* The messages of a rendezvous, and how to wait for them. They are records in the machine's byte
 * order, which the mark verifies. [...] is sealed by the connection's channel (rendezvous.h), whose
 * keys only a peer with the run's token has:
 *
 *   rank 0 -> rank   greeting
 *   rank -> rank 0   call [hello]
 *   rank 0 -> rank   [answer WAIT], as soon as the hello is accepted
 *                    [answer AGREED + blob] or [answer FAILED + text] when all is decided
 *
 * The first sealed message of each side proves that it knows the token, because it depends on the
 * other side's nonce. A peer whose hello does not open gets a refusal, a frame of length 0, which
 * says nothing else. After AGREED the same channel carries the lifeline's messages (lifeline.c). */

/* "unrdvz03" in memory; changes with each change of the protocol. Every version's greeting has 40
 * bytes and begins with its mark, by which ranks recognise another version. */
#define RENDEZVOUS_WIRE_MARK UINT64_C(0x33307a7664726e75)
#define RENDEZVOUS_WIRE_NAME "unrdvz"

struct rendezvous_greeting {
    uint64_t mark;
    unsigned char nonce[CHANNEL_NONCE];
};

struct rendezvous_hello {
    int32_t size, unused;
    uint64_t plan, spec;
    int64_t process;
    char program[48], host[64], device[64]; /* cut where they are longer */
};

struct rendezvous_call {
    uint64_t mark;
    unsigned char nonce[CHANNEL_NONCE];
    int32_t rank;
    unsigned char frame[CHANNEL_OVERHEAD + sizeof(struct rendezvous_hello)];
};
_Static_assert(sizeof(struct rendezvous_call) == 44 + CHANNEL_OVERHEAD +
               sizeof(struct rendezvous_hello), "a call has no gaps");

enum rendezvous_verdict { RENDEZVOUS_WAIT, RENDEZVOUS_AGREED, RENDEZVOUS_FAILED };

struct rendezvous_answer {
    int32_t verdict, code; /* code: of the error */
    uint32_t wait_ms;      /* how long rank 0 still waits for missing ranks */
};

/* The longest frame of an answer. */
#define RENDEZVOUS_WIRE_FRAME \
    (CHANNEL_OVERHEAD + sizeof(struct rendezvous_answer) + RENDEZVOUS_BLOB_MAX)
_Static_assert(ERR_TEXT_SIZE <= RENDEZVOUS_BLOB_MAX, "an error's text fits in the frame");

/* Makes the channel of the rank's call. */
void rendezvous_wire_connect(struct channel *dst, const struct rendezvous_config *c,
                             const struct rendezvous_greeting *greeting,
                             const struct rendezvous_call *call);

/* Returns a hash of the addresses of all ranks. */
uint64_t rendezvous_wire_hash_spec(const struct rendezvous_config *c);

/* Returns most_s, or less if the ranks have little time to meet. */
double rendezvous_wire_patience_s(const struct rendezvous_config *c, double most_s);
int rendezvous_wire_write(const struct rendezvous_config *c, int socket, const void *data,
                          size_t nbytes, double deadline, struct err *e);

/* Rank 0's part (rendezvous_host.c): sets links[rank] for each other rank, or returns -1 after
 * sending the error to every rank that arrived. */
int rendezvous_host_gather(const struct rendezvous_config *c, const void *blob, size_t nbytes,
                           struct rendezvous_link *links, struct err *e);

/* DIR/port in the run's folder of results: the port at which rank 0 listens if that of the cluster
 * spec is in use. It only saves a search: what listens there must still prove that it is rank 0. */

int port_file_write(const char *dir, int port, struct err *e);

/* Removes what an earlier start has left. */
void port_file_remove(const char *dir);
