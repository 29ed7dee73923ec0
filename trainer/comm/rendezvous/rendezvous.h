/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of a run meet before anything is computed, whatever communicator comes next: rank 0
 * listens at the address that the cluster spec gives it, the others come in any order, prove that
 * they know the run's token, and say who they are and what they would do. Either all of them go on,
 * or all of them end with the same text, which names the rank that is missing or differs.
 *
 * Rank 0 talks to every rank itself: so it can tell who is missing, and its connections stay as the
 * sign that a rank is alive. bench/rendezvous measures what that costs.
 *
 * What is told apart (ERR_PEER): a rank that did not come, that came twice, that left while others
 * were awaited, that has another world size, cluster spec, plan, program or the device of another
 * rank; on the side of a rank: rank 0's host has no address, nobody or a stranger listens there,
 * its name leads to this very host, rank 0 is of another run or stopped. Whoever does not know the
 * token is sent away and cannot end a run. */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_RENDEZVOUS_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_RENDEZVOUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/rendezvous/token.h"

/* The strings and arrays must live until rendezvous_open has returned. */
struct rendezvous_config {
    int rank, size;
    const char *const *hosts; /* by rank */
    const int *ports;
    const char *host;    /* as this rank calls its own */
    const char *device;  /* identity of a device that no other rank may have, such as a GPU's UUID;
                            "": the rank shares its cores */
    const char *program; /* what must be equal on all ranks: name and version */
    uint64_t plan;       /* hash of what this rank would do */
    unsigned char token[TOKEN_SIZE];
    double timeout_s;    /* for ranks to come */
    const atomic_int *interrupt; /* as in struct comm; may be NULL */
};

#define RENDEZVOUS_BLOB_MAX 4096

struct rendezvous {
    int rank, size;
    int *sockets; /* rank 0: to each rank, its own -1; others: one, to rank 0 */
};

/* blob: nbytes (equal on all ranks, at most RENDEZVOUS_BLOB_MAX) of rank 0, which every rank gets.
 * Ends within timeout_s, and a rank that has found rank 0 within what that one waits for others, in
 * each case some seconds more for the texts to arrive. On error *relayed says whether
 * the text came from rank 0, which tells it.
 * ERR_PEER; 128 + signal. */
struct rendezvous *rendezvous_open(const struct rendezvous_config *config, void *blob,
                                   size_t nbytes, bool *relayed, struct err *e);
void rendezvous_close(struct rendezvous *r); /* NULL is fine */

#endif
