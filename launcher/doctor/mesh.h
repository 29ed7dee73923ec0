/* SPDX-License-Identifier: BSD-3-Clause */
/* Can the ranks of a job talk to each other? Each listens at its own address of the cluster spec
 * and greets the others at theirs; the answers have the peer's number and clock. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_MESH_H
#define UNETCTL_LAUNCHER_DOCTOR_MESH_H

#include <stdbool.h>
#include <stddef.h>

struct mesh_peer {
    int index;        /* in the spec */
    const char *host; /* as the spec names it */
    int port;
    /* filled by mesh_greet */
    bool reached;
    double rtt_s, clock_s; /* the peer's clock minus ours */
    char interface[32];    /* the connection's own end */
    char error[200];       /* why not reached */
};

/* Should rank i greet rank j? All each other up to 33 ranks; beyond that the next 32 and rank 0. */
bool mesh_is_peer(size_t i, size_t j, size_t nranks);

/* Greet all peers and answer the nexpected ranks that greet us, until both is done or patience_s is
 * over. listener is listener_open's and may be -1. token distinguishes the ranks of one job
 * from strangers. */
void mesh_greet(int listener, int index, const char *token, struct mesh_peer *peers, size_t npeers,
                size_t nexpected, double patience_s);

#endif
