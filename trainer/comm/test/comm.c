/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicators within one process: self and thread. */
#include "config.h"
#include "trainer/comm/comm_self.h"
#include "trainer/comm/comm_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "t/tap.h"
#include "trainer/comm/test/check.h"

#define MOST_RANKS 5

struct replica {
    struct comm *comm;
    int (*body)(struct comm *c, struct err *e);
    int rc;
    struct err e;
};

static void *replica_main(void *arg)
{
    struct replica *r = arg;

    r->rc = r->body(r->comm, &r->e);
    if (r->rc)
        r->comm->ops->abort(r->comm, &r->e);
    return NULL;
}

/* Runs body on `size` threads; replicas[] gets the results. */
static void run_replicas(int size, double timeout_s, const atomic_int *interrupt,
                         int (*body)(struct comm *, struct err *), struct replica *replicas)
{
    struct err e;
    pthread_t threads[MOST_RANKS];
    struct comm_thread_group *g = comm_thread_create(size, timeout_s, interrupt, &e);

    if (!g)
        bail_out("%s", e.text);
    for (int r = 0; r < size; r++) {
        replicas[r] = (struct replica){.comm = comm_thread_member(g, r), .body = body};
        if (pthread_create(&threads[r], NULL, replica_main, &replicas[r]))
            bail_out("no thread");
    }
    for (int r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
        replicas[r].comm = NULL;
    }
    comm_thread_destroy(g);
}

static void test_self(void)
{
    struct err e = {0};
    struct comm *c = comm_self_open(&e);

    ok(c && c->rank == 0 && c->size == 1, "self is rank 0 of 1");
    ok(check_collectives(c, &e) == 0, "self: all collectives %s", e.text);
    c->ops->close(c);
}

static void test_threads(void)
{
    struct replica replicas[MOST_RANKS];

    for (int size = 1; size <= MOST_RANKS; size++) {
        run_replicas(size, 60, NULL, check_collectives, replicas);
        for (int r = 0; r < size; r++)
            ok(replicas[r].rc == 0, "thread: all collectives, rank %d of %d %s", r, size,
               replicas[r].e.text);
    }
}

/* Values whose float sum depends on the order: the order of ranks is guaranteed. */
static int check_order(struct comm *c, struct err *e)
{
    static const float parts[3] = {1e8f, 1.0f, -1e8f};
    float v[7];

    for (size_t i = 0; i < 7; i++)
        v[i] = parts[c->rank];
    if (comm_sum_float(c, v, 7, e))
        return -1;
    for (size_t i = 0; i < 7; i++)
        if (v[i] != (parts[0] + parts[1]) + parts[2])
            return err_set(e, ERR_INTERNAL, "got %g", (double)v[i]);
    return 0;
}

static int fail_on_one(struct comm *c, struct err *e)
{
    if (c->rank == 1)
        return err_set(e, ERR_DATA, "image 7 is broken");
    return c->ops->barrier(c, e);
}

static int stay_away(struct comm *c, struct err *e)
{
    return c->rank == 1 ? 0 : c->ops->barrier(c, e);
}

static int bring_other_sizes(struct comm *c, struct err *e)
{
    float v[8] = {0};

    return comm_sum_float(c, v, c->rank == 2 ? 8 : 7, e);
}

static int wait_for_ever(struct comm *c, struct err *e)
{
    return c->rank == 0 ? 0 : c->ops->barrier(c, e);
}

static void test_failures(void)
{
    static const atomic_int terminated = SIGTERM;
    struct replica r[MOST_RANKS];

    run_replicas(3, 60, NULL, check_order, r);
    ok(r[0].rc == 0 && r[1].rc == 0 && r[2].rc == 0, "thread: sums go in the order of ranks %s",
       r[0].e.text);
    run_replicas(3, 60, NULL, fail_on_one, r);
    ok(r[0].rc && r[0].e.code == ERR_DATA && strstr(r[0].e.text, "rank 1: image 7 is broken"),
       "thread: a rank's error ends the others: %s", r[0].e.text);
    run_replicas(3, 0.2, NULL, stay_away, r);
    ok(r[0].rc && r[2].rc && r[0].e.code == ERR_PEER &&
           strstr(r[0].e.text, "2 of 3 replicas arrived"),
       "thread: a wait ends: %s", r[0].e.text);
    run_replicas(3, 60, NULL, bring_other_sizes, r);
    ok(r[0].rc && r[1].rc && r[2].rc && strstr(r[1].e.text, "rank 2"),
       "thread: unequal sizes are found: %s", r[1].e.text);
    run_replicas(2, 60, &terminated, wait_for_ever, r);
    ok(r[1].rc && r[1].e.code == 128 + SIGTERM, "thread: a signal ends a wait: %s", r[1].e.text);
}

int main(void)
{
    test_self();
    test_threads();
    test_failures();
    return done_testing();
}
