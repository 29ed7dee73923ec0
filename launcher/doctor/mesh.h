/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the ranks of a job can connect to each other. Each listens at its own address in the
 * cluster specification, the list of all ranks' addresses, and greets others at theirs; an answer
 * has the peer's index and clock. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_MESH_H
#define UNETCTL_LAUNCHER_DOCTOR_MESH_H

#include <stdbool.h>
#include <stddef.h>

#include "src/run/token.h"

struct mesh_peer {
    int index;        /* its rank */
    const char *host; /* as the cluster specification names it */
    int port;
    /* set by mesh_greet */
    bool reached;
    double rtt_s, clock_s; /* round trip; the peer's clock minus this host's */
    char interface[32];    /* the local interface of the connection */
    char error[200];       /* why the peer was not reached */
};

/* Returns whether rank i should greet rank j. Up to 33 ranks all greet each other; with more, a
 * rank greets rank 0 and the next 32 ranks, where rank 0 follows the last. */
bool mesh_is_peer(size_t i, size_t j, size_t nranks);

/* Greets all peers and answers those of the nranks ranks that should greet this one, until both are
 * done or patience_s seconds have passed. listener is from listener_open, or -1 to answer none.
 * Ranks of one rehearsal have the same token, by which messages are signed: others are not
 * answered, and a peer with another token is not reached. */
void mesh_greet(int listener, int index, size_t nranks, const unsigned char token[TOKEN_SIZE],
                struct mesh_peer *peers, size_t npeers, double patience_s);

#endif
