/* SPDX-License-Identifier: BSD-3-Clause */
/* The secret by which the ranks of a run recognise each other. It is in a file of the run's folder
 * of results that only its owner can read, so that a later start in the same folder uses the same
 * one. It is never sent: messages are signed with it (HMAC-SHA256, RFC 2104), together with a
 * random number of the receiver. */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_TOKEN_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

#define TOKEN_SIZE 32
#define TOKEN_SIGNATURE 65 /* 64 hexadecimal digits and a NUL */

/* Reads DIR/token into dst. The rank that comes first creates the folder (not its parents) and the
 * file; the others, on any node, read what it wrote. ERR_PEER if the file can neither be read nor
 * created, is not a token, or can be read by other users. */
int token_share(const char *dir, unsigned char dst[TOKEN_SIZE], struct err *e);

/* Fills dst with at most 256 random bytes of the kernel. */
int token_draw(void *dst, size_t nbytes, struct err *e);

struct token_part {
    const void *data;
    size_t nbytes;
};

/* Sets dst to the signature of the concatenated parts, in hex. */
void token_sign(const unsigned char token[TOKEN_SIZE], const struct token_part *parts,
                size_t nparts, char dst[TOKEN_SIGNATURE]);

/* Compares in a time that does not depend on where the signatures differ. */
bool token_same(const char a[TOKEN_SIGNATURE], const char b[TOKEN_SIGNATURE]);

#endif
