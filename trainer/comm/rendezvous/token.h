/* SPDX-License-Identifier: BSD-3-Clause */
/* The secret of one attempt of a run, by which its ranks know each other. It lies in a file of the
 * attempt's folder that only its owner can read, and never goes over the network: what is sent is
 * signed with it (HMAC-SHA256, RFC 2104), together with a number that the other side has drawn. */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_TOKEN_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

#define TOKEN_SIZE 32
#define TOKEN_SIGNATURE 65 /* 64 hexadecimal digits and a NUL */

/* DIR/token into dst. Whichever rank comes first makes the folder and the file; the others, on any
 * node, read what it wrote. ERR_PEER: it can be neither read nor made, or others may read it. */
int token_share(const char *dir, unsigned char dst[TOKEN_SIZE], struct err *e);

/* Random bytes for a number that is used once. */
int token_draw(void *dst, size_t nbytes, struct err *e);

struct token_part {
    const void *data;
    size_t nbytes;
};

/* The signature of the parts, one behind the other. */
void token_sign(const unsigned char token[TOKEN_SIZE], const struct token_part *parts,
                size_t nparts, char dst[TOKEN_SIGNATURE]);

/* Takes the same time wherever they differ. */
bool token_same(const char a[TOKEN_SIGNATURE], const char b[TOKEN_SIGNATURE]);

#endif
