/* SPDX-License-Identifier: BSD-3-Clause */
/* The secret by which the ranks of a run recognise each other. It is in a file of the run's folder
 * of results that only its owner can read, so that a later start in the same folder uses the same
 * one. It is never sent, and nothing is signed with it: keys are derived from it. */
#ifndef UNETCTL_SRC_RUN_TOKEN_H
#define UNETCTL_SRC_RUN_TOKEN_H

#include <stddef.h>

#include "src/err.h"

#define TOKEN_SIZE 32

/* Reads DIR/token into dst. The rank that comes first creates the folder (not its parents) and the
 * file; the others, on any node, read what it wrote. ERR_PEER if the file can neither be read nor
 * created, is not a token, or can be read by other users. */
int token_share(const char *dir, unsigned char dst[TOKEN_SIZE], struct err *e);

/* Fills dst with at most 256 random bytes of the kernel. */
int token_draw(void *dst, size_t nbytes, struct err *e);

#endif
