/* SPDX-License-Identifier: BSD-3-Clause */
/* What communicators are made of: sums in shared memory, the ranks of a node, and a thread for
 * sums. */
#pragma once

#include "trainer/comm/comm_open.h"

/* What every communicator calls. */

/* Returns one with these members, to be freed by its close, or NULL. */
struct comm *comm_create(const struct comm_ops *ops, const struct comm_config *config, void *priv,
                         struct err *e);

/* Count a collective that begins; comm_enter also sets c->what. */
void comm_enter(struct comm *c, const char *what);
void comm_count(struct comm *c);

/* Called while a rank has waited so long in the collective `what`. Fails if the
 * lifeline knows of a failure, if interrupt or leaving asks the run to end, or if the time is up;
 * the lifeline then finds out, within some seconds, which rank is behind. */
int comm_check_wait(struct comm *c, const char *what, double waited_s, struct err *e);

/* Functions of barrier_check_f with a communicator as arg: comm_check_wait in the collective
 * c->what, and in a sum_small. */
int comm_check_main(void *arg, double waited_s, struct err *e);
int comm_check_small(void *arg, double waited_s, struct err *e);
extern const char comm_small_sum[]; /* what a sum_small is called */

/* Fails if the lifeline knows of a failure, and sets c->relayed. */
int comm_check_lifeline(struct comm *c, struct err *e);

/* Reductions over slices in memory that all ranks share. Each rank combines its share of the
 * elements over ranks 0..N-1, in this order, and writes the result to all slices, which gives the
 * same bits every time and on every rank. */

size_t reduce_element(enum reduce_op op); /* bytes of one element */
const char *reduce_name(enum reduce_op op); /* for error texts: "a sum of floats" */

/* What a rank brings to a collective: n elements, reduced in place. */
struct slice {
    void *values;
    size_t n;
    enum reduce_op op;
};

/* Reduces elements [from, to) of the slices values[0..size) into dst (to - from elements), or if
 * that is NULL in place, into all of them. */
void reduce_into(enum reduce_op op, void *dst, void *const *values, int size, size_t from,
                 size_t to);

/* Sets [*from, *to) to this rank's share of n elements. */
void reduce_share(size_t n, int rank, int size, size_t *from, size_t *to);

/* Barriers for parties that share memory, such as processes: no party passes
 * before all have arrived, and then each sees everything that the others wrote before.
 *
 * A waiting party sleeps. If each party has a core of its own, it polls for a while first, because
 * waking takes long; it then continues in less than a microsecond. If parties outnumber cores,
 * polling would only delay the others, and a core that is yielded (sched_yield) instead of released
 * may run another program for milliseconds. */

/* Called about every 20 ms while a party sleeps, and after barrier_wake. waited_s: since the party
 * arrived. Returning -1 with an error ends the wait with it; the barrier must not be used after
 * that. */
typedef int (*barrier_check_f)(void *arg, double waited_s, struct err *e);

struct barrier_memory; /* the shared memory */

struct barrier {
    struct barrier_memory *memory;
    int rank, size;
    bool spins;            /* set by the caller: this thread has a core of its own */
    barrier_check_f check; /* set by the caller, as arg; may be NULL */
    void *arg;
};

int barrier_wait(struct barrier *b, struct err *e);

/* Sums, or maxima, in memory that several parties, such as processes, share: each party copies
 * its values there, and after a barrier every party can read all of them. Of few values, if no
 * other node is involved, each party reduces all by itself, which saves a second barrier. */

/* Reduces the slices in place over all nodes. Only rank 0 of a node calls it. */
typedef int (*shared_reduce_across_f)(void *arg, const struct slice *slices, size_t nslices,
                                      struct err *e);

struct shared_reduce_notice; /* the word that a party announces, for shared_reduce_agree */

struct shared_reduce {
    struct barrier barrier; /* its check and spins may change between sums */
    struct shared_reduce_notice *notices;
    char *cells;   /* [2][size][room], in the shared memory */
    size_t room;   /* bytes of a party's values that are summed at once */
    /* The half of cells for this sum. Other parties may still be reading the other half. */
    int half;
    void **values; /* the cell of each party */
};

/* Returns the size of the memory that the parties share, which must be zeroed and aligned as
 * barrier_bytes requires. room: bytes that each party can sum at once, a multiple of 64. */
size_t shared_reduce_bytes(int size, size_t room);
int shared_reduce_open(struct shared_reduce *b, void *memory, int rank, int size, size_t room,
                       struct err *e);
void shared_reduce_close(struct shared_reduce *b); /* b may be all zeros */

/* Collective: the values of every party's slice, of the same size and operation, become the result.
 * across: includes other nodes; NULL if there are none. */
int shared_reduce_run(struct shared_reduce *b, struct slice s, shared_reduce_across_f across,
                      void *arg, struct err *e);

/* Collective: copies nbytes of the first party to all, or of each party, in their order, to all
 * (which has size * nbytes). */
int shared_reduce_broadcast(struct shared_reduce *b, void *data, size_t nbytes, struct err *e);
int shared_reduce_gather(struct shared_reduce *b, const void *one, void *all, size_t nbytes,
                         struct err *e);

/* Collective: fails on all parties unless all bring the same word. */
int shared_reduce_agree(struct shared_reduce *b, uint64_t word, struct err *e);

/* Sums, or maxima, over the ranks of one node, which are processes, in memory that all of them have
 * mapped: each rank reduces its share between two barriers, or of few values all.
 * Values in the node's buffer (node_share_buffer) are summed there; other values are
 * copied to shared memory and back.
 *
 * The first rank creates the memory by memfd_create, and the others open it through /proc, so that
 * the kernel frees it however the ranks end. */

/* Rank 0 calls node_offer and sends the offer to the others, which call node_join. Or another
 * process offers the memory to all ranks, rank 0 included. rank and size are those within the node.
 * Return NULL on error; then no rank may use the node. */
struct node *node_join(int rank, int size, const struct node_offer *offer, struct err *e);
/* `check` is called by the waits of node_reduce, `small` by those of node_reduce_small, both with
 * arg. */
void node_set_check(struct node *g, barrier_check_f check, barrier_check_f small, void *arg);

/* Collective, at most once: allocates memory for n floats of each rank. *own: this rank's floats,
 * zeroed, which the node owns. spins: as in struct barrier. */
int node_share_buffer(struct node *g, bool spins, size_t n, float **own, struct err *e);

/* Collective: every rank brings slices of the same sizes and operations, either all or none of them
 * in the buffer. across: includes other nodes; NULL if there are none. */
int node_reduce(struct node *g, bool spins, const struct slice *slices, size_t nslices,
                shared_reduce_across_f across, void *arg, struct err *e);

/* node_start keeps a slice; node_finish does as node_reduce for all that were kept, each in the
 * buffer or elsewhere. */
int node_start(struct node *g, struct slice s, struct err *e);
int node_finish(struct node *g, bool spins, shared_reduce_across_f across, void *arg,
                struct err *e);

/* As node_reduce for a small slice; another thread may be in node_reduce meanwhile. */
int node_reduce_small(struct node *g, bool spins, struct slice s, shared_reduce_across_f across,
                      void *arg, struct err *e);

/* The thread of a communicator that sums in the background: slices that are added are summed in
 * their order while the rank computes. Every rank adds the same slices in the same order. */

struct comm_async;

/* Sums a slice over all ranks; called by the thread. It has a deadline. */
typedef int (*comm_async_f)(struct comm *c, const struct slice *s, struct err *e);

/* Starts the thread. Returns NULL on error. */
struct comm_async *comm_async_open(struct comm *c, comm_async_f sum, struct err *e);

int comm_async_add(struct comm_async *a, struct slice s, struct err *e);

/* Waits until all slices are summed, and sets c->spans. After an error of a sum, every call fails
 * with it. */
int comm_async_wait(struct comm_async *a, struct err *e);

/* Ends the thread and frees a, which may be NULL. Slices that are still queued are not summed. now:
 * a sum in flight is interrupted as if by a signal. */
void comm_async_close(struct comm_async *a, bool now);
