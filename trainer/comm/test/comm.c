/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicators without MPI: self, and node with ranks that this test forks. Memory of another
 * process is refused. */
#include "src/base.h"
#include "trainer/comm/comm_internal.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "t/tap.h"
#include "trainer/comm/test/check.h"

#define MOST_RANKS 5

/* What the ranks report, in memory that they share. */
struct result {
    int rc;
    struct err e;
};

static struct result *results; /* [MOST_RANKS] */

static void be_rank(const struct comm_config *config, const struct node_offer *offer,
                    int (*body)(struct comm *, struct err *))
{
    struct result *r = &results[config->rank];
    struct comm *c = comm_node_open(config, offer, &r->e);

    r->rc = c ? body(c, &r->e) : -1;
    if (c)
        c->ops->close(c);
    _exit(0);
}

/* Runs body on `size` ranks. */
static void run_ranks(int size, double timeout_s, const atomic_int *interrupt,
                      int (*body)(struct comm *, struct err *))
{
    struct node_offer offer;
    struct err e;
    struct node *node = node_offer(size, &offer, &e);
    pid_t processes[MOST_RANKS];

    if (!node)
        bail_out("%s", e.text);
    memset(results, 0, MOST_RANKS * sizeof *results);
    for (int r = 0; r < size; r++) {
        struct comm_config config = {.rank = r, .size = size, .host = "n07",
                                     .timeout_s = timeout_s, .interrupt = interrupt};
        results[r].rc = -1;
        if ((processes[r] = fork()) == 0)
            be_rank(&config, &offer, body);
    }
    for (int r = 0; r < size; r++)
        waitpid(processes[r], NULL, 0);
    node_destroy(node);
}

static void test_self(void)
{
    struct err e = {0};
    struct comm *c = comm_self_open(&e);

    ok(c && c->rank == 0 && c->size == 1, "self is rank 0 of 1");
    ok(check_collectives(c, &e) == 0, "self: all collectives %s", e.text);
    c->ops->close(c);
}

static void test_node(void)
{
    for (int size = 1; size <= MOST_RANKS; size++) {
        run_ranks(size, 60, NULL, check_collectives);
        for (int r = 0; r < size; r++)
            ok(results[r].rc == 0, "node: all collectives, rank %d of %d %s", r, size,
               results[r].e.text);
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

static int stay_away(struct comm *c, struct err *e)
{
    return c->rank == 1 ? 0 : c->ops->barrier(c, e);
}

static int bring_other_sizes(struct comm *c, struct err *e)
{
    float v[8] = {0};

    return comm_sum_float(c, v, c->rank == 2 ? 8 : 7, e);
}

static int call_another(struct comm *c, struct err *e)
{
    char v[8] = {0}, all[3 * sizeof v];

    return c->rank == 2 ? c->ops->broadcast(c, v, sizeof v, e)
                        : c->ops->gather(c, v, all, sizeof v, e);
}

/* As for barriers and sums, of which every rank has a share. */
static int lose_one(struct comm *c, struct err *e)
{
    static int64_t v[100000];

    if (c->rank == 1)
        raise(SIGKILL);
    return comm_sum_int64(c, v, 100000, e);
}

static int wait_for_ever(struct comm *c, struct err *e)
{
    return c->rank == 0 ? 0 : c->ops->barrier(c, e);
}

static void test_failures(void)
{
    static const atomic_int terminated = SIGTERM;
    const struct result *r = results;

    run_ranks(3, 60, NULL, check_order);
    ok(r[0].rc == 0 && r[1].rc == 0 && r[2].rc == 0, "node: sums go in the order of ranks %s",
       r[0].e.text);
    run_ranks(3, 0.2, NULL, stay_away);
    ok(r[0].rc && r[2].rc && r[0].e.code == ERR_PEER &&
           strstr(r[0].e.text, "rank 0 of 3 on n07: a barrier (collective 1) did not end within "
                               "0.2 s"),
       "node: a wait ends: %s", r[0].e.text);
    run_ranks(3, 0.3, NULL, lose_one);
    ok(r[0].e.code == ERR_PEER && r[2].e.code == ERR_PEER, "node: a wait for one that was killed "
       "ends: %s", r[2].e.text);
    run_ranks(3, 60, NULL, bring_other_sizes);
    ok(r[0].rc && r[1].rc && r[2].rc && strstr(r[1].e.text, "rank 2"),
       "node: unequal sizes are found: %s", r[1].e.text);
    run_ranks(3, 60, NULL, call_another);
    ok(r[0].rc && r[1].rc && r[2].rc && strstr(r[1].e.text, "rank 2"),
       "node: so is another collective: %s", r[1].e.text);
    run_ranks(2, 60, &terminated, wait_for_ever);
    ok(r[1].rc && r[1].e.code == 128 + SIGTERM, "node: a signal ends a wait: %s", r[1].e.text);
}

static void test_refusals(void)
{
    struct node_offer offer;
    struct err e;
    struct node *node = node_offer(2, &offer, &e);

    offer.key[3] ^= 1;
    ok(!node_join(1, 2, &offer, &e) && strstr(e.text, "belongs to another process"),
       "memory that is not the one: %s", e.text);
    offer.path[sizeof "/proc/" - 1] = '0';
    ok(!node_join(1, 2, &offer, &e) && e.code == ERR_INTERNAL, "memory that is not there: %s",
       e.text);
    node_destroy(node);
    node_destroy(NULL);
}

int main(void)
{
    results = mmap(NULL, MOST_RANKS * sizeof *results, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED)
        bail_out("no memory");
    test_self();
    test_node();
    test_failures();
    test_refusals();
    return done_testing();
}
