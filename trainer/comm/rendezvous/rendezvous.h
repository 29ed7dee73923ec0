/* SPDX-License-Identifier: BSD-3-Clause */
/* How the ranks of a run find each other, and notice that one is lost.
 *
 * Ranks that a cluster spec names connect to rank 0 (rendezvous), which checks that they agree on
 * the run, and keep these connections until the run ends (lifeline). run/membership.c opens both,
 * and communicators ask the lifeline while they wait. Peers without the run's token are ignored;
 * a rank that is missing, differs or is lost is named in the error of every other rank.
 *
 * To read: this file; rendezvous.c, the side of every rank; rendezvous_host.c, that of rank 0;
 * lifeline.c. rendezvous_internal.h has the messages. */
#pragma once

#include "src/base.h"

#include <stdatomic.h>

#include "src/format/sha256.h"
#include "src/run/marker.h"

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

/* The rendezvous of all ranks of a run, before anything is computed: rank 0 listens at its address
 * in the cluster spec. The other ranks connect in any order, and send what must agree (plan,
 * program, addresses). Then either all ranks continue, or all that have reached rank 0 fail with
 * the same text, which names the rank that is missing or differs.
 *
 * Both sides prove that they know the run's token, and neither sends anything that a peer without
 * it can read. Such a peer may delay a run but not end it: rank 0 holds a bounded
 * number of its connections and drops the oldest; a rank that reaches it tries again until its
 * time is up; and where it has taken rank 0's port, rank 0 listens at another and publishes that in
 * the folder of results (rendezvous_internal.h).
 *
 * Rank 0 is connected to every rank, so it knows which one is missing, and the connections stay
 * open to detect ranks that die (lifeline). bench/rendezvous measures the cost.
 *
 * These errors are distinguished (all ERR_PEER): a rank that did not connect, connected twice, or
 * left while others were missing; a rank with another world size, cluster spec, plan or program, or
 * with the device of another rank. When connecting to rank 0: its host has no address; no process,
 * or one without the token, listens there; its name resolves to this host; messages were changed on
 * their way; rank 0 is stopped or has ended. */

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

/* Detects lost ranks: the connections of the rendezvous stay open for the whole run, and a thread
 * of each process watches them. A process that dies closes its connection, and a rank that fails
 * sends its error. If a collective does not end, rank 0 asks all ranks which collective they are
 * in, so that the error names the rank that is stopped, slow or stuck. A message that the channel
 * of the rendezvous does not open ends the run.
 *
 * Rank 0 receives all messages and forwards errors to the other ranks. The first error is kept. */

struct lifeline;

/* Called at most once, by the thread, when the run cannot continue. host: of a rank that is gone or
 * does not answer; NULL if the error has another cause. */
typedef void (*lifeline_lost_f)(void *arg, const char *host, const struct err *e);

/* Owns r, which is closed on error (NULL). hosts, by rank, must outlive the result. lost may be
 * NULL. */
struct lifeline *lifeline_open(struct rendezvous *r, const char *const *hosts, lifeline_lost_f lost,
                               void *arg, struct err *e);

/* Counts collectives: called when this rank enters its next collective. All ranks enter the same
 * ones. */
void lifeline_count(struct lifeline *l);

/* Returns 0, or -1 with the error if the run cannot continue, and with *relayed, whether another
 * rank reports that error. Cheap. */
int lifeline_check(struct lifeline *l, bool *relayed, struct err *e);

/* Determines within some seconds why the current collective does not end. Returns as
 * lifeline_check; 0 if no rank is behind. */
int lifeline_ask(struct lifeline *l, bool *relayed, struct err *e);

/* Sends this rank's error to rank 0, which forwards it; rank 0 sends its own to all ranks. */
void lifeline_fail(struct lifeline *l, const struct err *e);

/* Leaves normally, so that no other rank reports a loss. NULL is allowed. */
void lifeline_close(struct lifeline *l);
