/* SPDX-License-Identifier: BSD-3-Clause */
/* The rendezvous of all ranks of a run, before anything is computed: rank 0 listens at its address
 * in the cluster spec. The other ranks connect in any order, and send what must agree (plan,
 * program, addresses). Then either all ranks continue, or all that have reached rank 0 fail with
 * the same text, which names the rank that is missing or differs.
 *
 * Both sides prove that they know the run's token, and neither sends anything that a peer without
 * it can read (channel.h). Such a peer may delay a run but not end it: rank 0 holds a bounded
 * number of its connections and drops the oldest; a rank that reaches it tries again until its
 * time is up; and where it has taken rank 0's port, rank 0 listens at another and publishes that in
 * the folder of results (port_file.h).
 *
 * Rank 0 is connected to every rank, so it knows which one is missing, and the connections stay
 * open to detect ranks that die (lifeline.h). bench/rendezvous measures the cost.
 *
 * These errors are distinguished (all ERR_PEER): a rank that did not connect, connected twice, or
 * left while others were missing; a rank with another world size, cluster spec, plan or program, or
 * with the device of another rank. When connecting to rank 0: its host has no address; no process,
 * or one without the token, listens there; its name resolves to this host; messages were changed on
 * their way; rank 0 is stopped or has ended. */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_RENDEZVOUS_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_RENDEZVOUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/comm/rendezvous/channel.h"

/* The strings and arrays must live until rendezvous_open has returned. */
struct rendezvous_config {
    int rank, size;
    const char *const *hosts; /* by rank */
    const int *ports;
    const char *address; /* of rank 0, if it is not to be found by its host's name; or NULL */
    /* Of rank 0: a socket that listens at ports[0], which rendezvous_open closes; or 0. */
    int listener;
    const char *host; /* name of this rank's host */
    /* Identity of a device that no other rank may use, such as a GPU's UUID; or "". */
    const char *device;
    const char *program; /* name and version, which must be equal on all ranks */
    uint64_t plan;       /* hash of the configuration, equal on all ranks */
    unsigned char token[TOKEN_SIZE];
    const char *folder;  /* in which rank 0 publishes its port if that of the spec is in use; with
                          * listener not used */
    double timeout_s;    /* for all ranks to connect */
    const atomic_int *interrupt; /* as in struct comm; may be NULL */
};

#define RENDEZVOUS_BLOB_MAX 4096

struct rendezvous_link {
    int socket; /* -1: not connected */
    struct channel channel;
};

struct rendezvous {
    int rank, size;
    struct rendezvous_link *links; /* on rank 0 to each rank; on others one, to rank 0 */
};

/* Collective. blob: nbytes (equal on all ranks, at most RENDEZVOUS_BLOB_MAX) that every rank
 * receives from rank 0. Ends within timeout_s; on a rank that has reached rank 0, within rank 0's
 * timeout, plus some seconds for messages to arrive. Returns NULL on error: ERR_PEER, 128 + signal,
 * or ERR_INTERNAL if the system lacks resources. *relayed: rank 0 reports the error. */
struct rendezvous *rendezvous_open(const struct rendezvous_config *config, void *blob,
                                   size_t nbytes, bool *relayed, struct err *e);
void rendezvous_close(struct rendezvous *r); /* NULL is allowed */

#endif
