/* SPDX-License-Identifier: BSD-3-Clause */
/* A member publishes its slices, waits at a barrier, reads the slices of all members (a sum also
 * writes this member's share of them), and waits again before its slices may change; only sum_small
 * uses a board (board.h) instead. The group keeps the first error of a member. */
#include "config.h"
#include "trainer/comm/comm_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/mem.h"
#include "trainer/comm/board.h"

#define SMALL_BYTES (32 * 1024) /* of each member that sum_small sums at once */

struct member {
    struct comm comm;
    struct comm_thread_group *group;
    struct reduce_list pending; /* slices started but not summed yet */
    struct slice one;          /* of a collective with one slice */
    const struct slice *published; /* what other members may read between two barriers */
    size_t npublished;
    void **values; /* the slice being reduced, by rank */
    struct barrier barrier;
    struct board small;
    const char *what; /* the collective that this rank waits in */
};

struct comm_thread_group {
    pthread_mutex_t lock; /* protects error and failed_rank */
    atomic_bool failed;
    int failed_rank;
    struct err error;
    int size;
    struct member *members;
    void **values; /* memory for the members' values */
    void *memory;  /* of the members' barriers and boards */
};

static struct member *member_of(struct comm *c)
{
    return c->priv;
}

/* Records the first failure; later ones are ignored. */
static void fail_group(struct comm *c, const struct err *e)
{
    struct member *m = member_of(c);
    struct comm_thread_group *g = m->group;

    pthread_mutex_lock(&g->lock);
    if (!g->failed) {
        g->failed_rank = c->rank;
        g->error = *e;
        g->failed = true;
    }
    pthread_mutex_unlock(&g->lock);
    barrier_wake(&m->barrier);
    barrier_wake(&m->small.barrier);
}

/* Fails if a rank has failed. */
static int check_group(struct comm *c, struct err *e)
{
    const struct comm_thread_group *g = member_of(c)->group;

    if (!g->failed)
        return 0;
    *e = g->error;
    c->relayed = g->failed_rank != c->rank;
    return c->relayed ? err_rank(e, g->failed_rank, NULL) : -1;
}

static int check_barrier(struct comm *c, const struct barrier *m, const char *what, double waited_s,
                         struct err *e)
{
    if (check_group(c, e))
        return -1;
    int rc = comm_check_interrupt(c, e);
    if (rc == 0 && waited_s > c->timeout_s)
        rc = err_set(e, ERR_PEER,
                     "rank %d of %d: %s did not end within %g s: %d of %d replicas "
                     "arrived",
                     c->rank, c->size, what, c->timeout_s, barrier_count_arrived(m), c->size);
    if (rc)
        fail_group(c, e);
    return rc;
}

static int check_main_barrier(void *arg, double waited_s, struct err *e)
{
    struct comm *c = arg;
    const struct member *m = member_of(c);

    return check_barrier(c, &m->barrier, m->what, waited_s, e);
}

static int check_small_barrier(void *arg, double waited_s, struct err *e)
{
    struct comm *c = arg;
    const struct member *m = member_of(c);

    return check_barrier(c, &m->small.barrier, "a sum within a step", waited_s, e);
}

static int wait_for_members(struct comm *c, const char *what, struct err *e)
{
    struct member *m = member_of(c);

    m->what = what;
    m->barrier.spins = !c->background && c->spins;
    return check_group(c, e) ? -1 : barrier_wait(&m->barrier, e);
}

/* Reduces this thread's share of one slice. */
static void reduce_one_slice(struct comm *c, struct comm_thread_group *g, size_t index)
{
    struct member *m = member_of(c);
    const struct slice *s = &m->published[index];
    size_t from, to;

    reduce_share(s->n, c->rank, c->size, &from, &to);
    for (int r = 0; r < c->size; r++)
        m->values[r] = g->members[r].published[index].values;
    reduce_slice(s->op, m->values, c->size, from, to);
}

/* Every rank compares the same slices, so that all of them succeed or all fail. */
static int check_same(struct comm *c, struct comm_thread_group *g, const char *what, struct err *e)
{
    const struct member *zero = &g->members[0];

    for (int r = 1; r < c->size; r++) {
        const struct member *m = &g->members[r];
        bool same = m->npublished == zero->npublished;
        for (size_t i = 0; same && i < m->npublished; i++)
            same = m->published[i].n == zero->published[i].n &&
                   m->published[i].op == zero->published[i].op;
        if (!same)
            return err_set(e, ERR_INTERNAL, "%s: rank %d has other slices than rank 0", what, r);
    }
    return 0;
}

static int reduce_all(struct comm *c, const struct slice *slices, size_t n, const char *what,
                      struct err *e)
{
    struct member *m = member_of(c);
    struct comm_thread_group *g = m->group;

    m->published = slices;
    m->npublished = n;
    if (wait_for_members(c, what, e) || check_same(c, g, what, e))
        return -1;
    for (size_t i = 0; i < n; i++)
        reduce_one_slice(c, g, i);
    return wait_for_members(c, what, e);
}

static int thread_reduce(struct comm *c, void *values, size_t n, enum reduce_op op, struct err *e)
{
    struct member *m = member_of(c);

    m->one = (struct slice){values, n, op};
    return reduce_all(c, &m->one, 1, reduce_name(op), e);
}

static int thread_start_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    struct slice slice = {values, n, REDUCE_SUM_FLOAT};

    return reduce_list_add(&member_of(c)->pending, slice, e);
}

static int thread_wait(struct comm *c, struct err *e)
{
    struct member *m = member_of(c);
    size_t n = m->pending.n;

    m->pending.n = 0;
    return reduce_all(c, m->pending.items, n, "the sum of gradients", e);
}

static int thread_sum_small(struct comm *c, double *values, size_t n, struct err *e)
{
    struct slice slice = {values, n, REDUCE_SUM_DOUBLE};
    struct board *b = &member_of(c)->small;

    b->barrier.spins = c->spins;
    return check_group(c, e) ? -1 : board_reduce(b, slice, NULL, NULL, e);
}

static void publish_bytes(struct member *m, void *data, size_t nbytes)
{
    m->one = (struct slice){.values = data, .n = nbytes};
    m->published = &m->one;
    m->npublished = 1;
}

static int thread_broadcast(struct comm *c, void *data, size_t nbytes, int root, struct err *e)
{
    struct member *m = member_of(c);
    struct comm_thread_group *g = m->group;

    if (root < 0 || root >= c->size)
        return err_set(e, ERR_INTERNAL, "broadcast from rank %d of %d", root, c->size);
    publish_bytes(m, data, nbytes);
    if (wait_for_members(c, "a broadcast", e) || check_same(c, g, "a broadcast", e))
        return -1;
    if (c->rank != root && nbytes > 0)
        memcpy(data, g->members[root].published->values, nbytes);
    return wait_for_members(c, "a broadcast", e);
}

static int thread_gather(struct comm *c, const void *one, void *all, size_t nbytes, struct err *e)
{
    struct member *m = member_of(c);
    struct comm_thread_group *g = m->group;

    publish_bytes(m, (void *)(uintptr_t)one, nbytes);
    if (wait_for_members(c, "a gather", e) || check_same(c, g, "a gather", e))
        return -1;
    for (int r = 0; r < c->size && nbytes > 0; r++)
        memcpy((char *)all + (size_t)r * nbytes, g->members[r].published->values, nbytes);
    return wait_for_members(c, "a gather", e);
}

static int thread_barrier(struct comm *c, struct err *e)
{
    return wait_for_members(c, "a barrier", e);
}

static void thread_abort(struct comm *c, const struct err *e)
{
    fail_group(c, e);
}

static void thread_close(struct comm *c)
{
    (void)c;
}

static const struct comm_ops thread_ops = {
    .name = "thread",
    .place = comm_no_place,
    .reduce = thread_reduce,
    .start_sum_float = thread_start_sum_float,
    .wait = thread_wait,
    .sum_small = thread_sum_small,
    .broadcast = thread_broadcast,
    .gather = thread_gather,
    .barrier = thread_barrier,
    .abort = thread_abort,
    .close = thread_close,
};

static int open_member(struct comm_thread_group *g, int rank, double timeout_s,
                       const atomic_int *interrupt, struct err *e)
{
    struct member *m = &g->members[rank];
    char *small = (char *)g->memory + barrier_bytes(g->size);

    m->group = g;
    m->values = g->values + (size_t)rank * (size_t)g->size;
    m->comm = (struct comm){.ops = &thread_ops, .rank = rank, .size = g->size,
                            .timeout_s = timeout_s, .interrupt = interrupt, .priv = m};
    barrier_join(&m->barrier, g->memory, rank, g->size);
    if (board_open(&m->small, small, rank, g->size, SMALL_BYTES, e))
        return -1;
    m->barrier.check = check_main_barrier;
    m->small.barrier.check = check_small_barrier;
    m->barrier.arg = m->small.barrier.arg = &m->comm;
    return 0;
}

struct comm_thread_group *comm_thread_create(int size, double timeout_s,
                                             const atomic_int *interrupt, struct err *e)
{
    struct comm_thread_group *g = mem_zero(1, sizeof *g, e);
    size_t nbytes = barrier_bytes(size) + board_bytes(size, SMALL_BYTES);

    if (!g)
        return NULL;
    pthread_mutex_init(&g->lock, NULL);
    g->members = calloc((size_t)size, sizeof *g->members);
    g->values = calloc((size_t)size * (size_t)size, sizeof *g->values);
    g->memory = aligned_alloc(64, nbytes);
    if (!g->members || !g->values || !g->memory) {
        comm_thread_destroy(g);
        mem_fail(e);
        return NULL;
    }
    memset(g->memory, 0, nbytes);
    g->size = size;
    for (int r = 0; r < size; r++)
        if (open_member(g, r, timeout_s, interrupt, e)) {
            comm_thread_destroy(g);
            return NULL;
        }
    return g;
}

void comm_thread_destroy(struct comm_thread_group *g)
{
    if (!g)
        return;
    for (int r = 0; r < g->size; r++) {
        free(g->members[r].pending.items);
        board_close(&g->members[r].small);
    }
    pthread_mutex_destroy(&g->lock);
    free(g->members);
    free(g->values);
    free(g->memory);
    free(g);
}

struct comm *comm_thread_member(struct comm_thread_group *g, int rank)
{
    return &g->members[rank].comm;
}

int comm_thread_check(struct comm *c, struct err *e)
{
    return check_group(c, e);
}
