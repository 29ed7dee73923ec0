/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that sum by shared memory: no thread passes a barrier early, sums are rounded as in the
 * order of ranks, and a thread that is absent or brings another word (shared_reduce_agree) is
 * detected. */
#include "src/base.h"
#include "trainer/comm/comm_internal.h"

#include <pthread.h>
#include <stdatomic.h>

#include "t/tap.h"

#define N 3
#define ROOM 4096 /* bytes summed at once: 512 doubles */
#define MOST 20000

struct party {
    struct shared_reduce shared;
    int (*body)(struct party *p, struct err *e);
    int rc;
    struct err e;
};

static atomic_int came[N], looks;

/* No party is ever more than one barrier ahead of another, whether it polls or sleeps. */
static int keep_step(struct party *p, struct err *e)
{
    struct barrier *m = &p->shared.barrier;

    for (int i = 0; i < 2000; i++) {
        m->spins = i % 2;
        came[m->rank]++;
        if (barrier_wait(m, e))
            return -1;
        for (int r = 0; r < N; r++)
            if (came[r] < i + 1 || came[r] > i + 2)
                return err_set(e, ERR_INTERNAL, "rank %d came %d times at %d", r, came[r], i + 1);
    }
    return 0;
}

static int sum(struct party *p, size_t n, shared_reduce_across_f across, double want, struct err *e)
{
    static const double parts[N] = {1e17, 1, -1e17};
    static _Thread_local double v[MOST];

    for (size_t i = 0; i < n; i++)
        v[i] = parts[p->shared.barrier.rank];
    if (shared_reduce_run(&p->shared, (struct slice){v, n, REDUCE_SUM_DOUBLE}, across, NULL, e))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (v[i] != want)
            return err_set(e, ERR_INTERNAL, "%g of %zu", v[i], n);
    return 0;
}

static int add_seven(void *arg, const struct slice *slices, size_t nslices, struct err *e)
{
    (void)arg, (void)e;
    for (size_t s = 0; s < nslices; s++)
        for (size_t i = 0; i < slices[s].n; i++)
            ((double *)slices[s].values)[i] += 7;
    return 0;
}

static int sum_all(struct party *p, struct err *e)
{
    static const size_t sizes[] = {0, 1, 511, 512, 513, MOST};
    const double here = (1e17 + 1) + -1e17;

    for (int round = 0; round < 50; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (sum(p, sizes[i], NULL, here, e) || sum(p, sizes[i], add_seven, here + 7, e))
                return -1;
    return 0;
}

static int look(void *arg, double waited_s, struct err *e)
{
    (void)arg;
    looks++;
    if (waited_s < 0.05)
        return 0;
    return err_set(e, ERR_PEER, "enough");
}

static int stay_away(struct party *p, struct err *e)
{
    p->shared.barrier.check = look;
    p->shared.barrier.arg = p;
    return p->shared.barrier.rank == 1 ? 0 : barrier_wait(&p->shared.barrier, e);
}

static int bring_another(struct party *p, struct err *e)
{
    return shared_reduce_agree(&p->shared, p->shared.barrier.rank == 2 ? 8 : 7, e);
}

/* More than is shared at once, from the first party, then from all; sums in between. */
static int share_bytes(struct party *p, struct err *e)
{
    enum { BYTES = 2 * ROOM + 77 };
    static unsigned char all[N][N * BYTES];
    unsigned char one[BYTES], *own = all[p->shared.barrier.rank];
    int rank = p->shared.barrier.rank;

    for (int round = 0; round < 100; round++) {
        size_t n = round % 3 ? BYTES : (size_t)(round % 5);
        memset(one, rank == 0 ? round : 255, n);
        if (shared_reduce_broadcast(&p->shared, one, n, e) || sum(p, 1, NULL, 0, e))
            return -1;
        for (size_t i = 0; i < n; i++)
            if (one[i] != round)
                return err_set(e, ERR_INTERNAL, "broadcast %d: byte %zu", round, i);
        memset(one, 2 * round + rank, n);
        if (shared_reduce_gather(&p->shared, one, own, n, e))
            return -1;
        for (size_t i = 0; i < N * n; i++)
            if (own[i] != (unsigned char)(2 * round + (int)(i / n)))
                return err_set(e, ERR_INTERNAL, "gather %d: byte %zu", round, i);
    }
    return 0;
}

static void *main_of(void *arg)
{
    struct party *p = arg;

    p->rc = p->body(p, &p->e);
    return NULL;
}

static void run_parties(int (*body)(struct party *p, struct err *e), struct party *parties)
{
    size_t nbytes = shared_reduce_bytes(N, ROOM);
    void *memory = aligned_alloc(64, nbytes);
    pthread_t threads[N];
    struct err e;

    if (!memory)
        bail_out("no memory");
    memset(memory, 0, nbytes);
    for (int r = 0; r < N; r++) {
        parties[r] = (struct party){.body = body};
        if (shared_reduce_open(&parties[r].shared, memory, r, N, ROOM, &e) ||
            pthread_create(&threads[r], NULL, main_of, &parties[r]))
            bail_out("no thread");
    }
    for (int r = 0; r < N; r++)
        pthread_join(threads[r], NULL);
    for (int r = 0; r < N; r++)
        shared_reduce_close(&parties[r].shared);
    free(memory);
}

static const char *first_text(const struct party *p)
{
    for (int r = 0; r < N; r++)
        if (p[r].rc)
            return p[r].e.text;
    return "";
}

int main(void)
{
    struct party p[N];

    is_int(shared_reduce_bytes(N, ROOM) % 64, 0, "one can lie behind the other");
    run_parties(keep_step, p);
    ok(p[0].rc == 0 && p[1].rc == 0 && p[2].rc == 0, "nobody gets ahead %s", first_text(p));
    run_parties(sum_all, p);
    ok(p[0].rc == 0 && p[1].rc == 0 && p[2].rc == 0, "sums, and others' added to them %s",
       first_text(p));
    run_parties(share_bytes, p);
    ok(p[0].rc == 0 && p[1].rc == 0 && p[2].rc == 0, "bytes of one, and of each %s", first_text(p));
    run_parties(stay_away, p);
    ok(p[0].rc && p[2].rc && p[0].e.code == ERR_PEER, "a wait for one that stays away ends");
    ok(looks >= 2, "having looked around meanwhile");
    run_parties(bring_another, p);
    ok(p[0].rc && p[1].rc && p[2].rc && strstr(p[0].e.text, "rank 2"),
       "one that brings something else is seen by all: %s", p[0].e.text);
    shared_reduce_close(&(struct shared_reduce){0});
    return done_testing();
}
