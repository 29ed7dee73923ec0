/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of a rendezvous, and how to wait for them. They are records of fixed size in the
 * machine's byte order, which the mark verifies.
 *
 *   rank 0 -> rank   greeting
 *   rank -> rank 0   hello, signed, with rank 0's nonce
 *   rank 0 -> rank   verdict, signed, with the rank's nonce; then nblob bytes */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_RENDEZVOUS_WIRE_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_RENDEZVOUS_WIRE_H

#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/rendezvous/rendezvous.h"
#include "trainer/comm/rendezvous/token.h"

/* "unrdvz01" in memory; changes with each change of the protocol. */
#define RENDEZVOUS_WIRE_MARK UINT64_C(0x31307a7664726e75)
#define RENDEZVOUS_WIRE_NAME "unrdvz"

struct rendezvous_greeting {
    uint64_t mark;
    uint32_t wait_ms; /* how long rank 0 still waits for missing ranks */
    uint32_t unused;
    unsigned char nonce[16];
};

struct rendezvous_hello {
    uint64_t mark;
    int32_t rank, size;
    uint64_t plan, spec;
    int64_t process;
    char program[64], host[256], device[128];
    unsigned char nonce[16];
    char signature[TOKEN_SIGNATURE + 7];
};

struct rendezvous_verdict {
    uint64_t mark;
    int32_t code; /* 0: all ranks have arrived and agree */
    uint32_t nblob;
    char text[ERR_TEXT_SIZE];
    char signature[TOKEN_SIGNATURE + 7];
};

void rendezvous_wire_sign_hello(const unsigned char token[TOKEN_SIZE],
                                const struct rendezvous_greeting *greeting,
                                const struct rendezvous_hello *hello, char dst[TOKEN_SIGNATURE]);
void rendezvous_wire_sign_verdict(const unsigned char token[TOKEN_SIZE],
                                  const struct rendezvous_hello *hello,
                                  const struct rendezvous_verdict *verdict, const void *blob,
                                  char dst[TOKEN_SIGNATURE]);

/* Returns a hash of the addresses of all ranks. */
uint64_t rendezvous_wire_hash_spec(const struct rendezvous_config *c);

/* Returns a timeout for poll: short enough to notice signals, and not beyond the deadline. */
int rendezvous_wire_nap_ms(double deadline);

/* Transfers nbytes over a non-blocking socket. Returns 0, 1 if the deadline has passed, 2 if the
 * connection is closed or has failed, or -1 with a signal's error. */
int rendezvous_wire_read(const struct rendezvous_config *c, int socket, void *dst, size_t nbytes,
                         double deadline, struct err *e);
int rendezvous_wire_write(const struct rendezvous_config *c, int socket, const void *data,
                          size_t nbytes, double deadline, struct err *e);

/* Rank 0's part (rendezvous_host.c): sets sockets[rank] for each other rank, or returns -1 after
 * sending the error to every rank that arrived. */
int rendezvous_host_gather(const struct rendezvous_config *c, const void *blob, size_t nbytes,
                           int *sockets, struct err *e);

#endif
