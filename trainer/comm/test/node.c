/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that sum in shared memory: sums of whole numbers are exact, others are rounded as in
 * the order of ranks, from no value to several times what is summed at once. A rank's check ends
 * its wait for one that was killed, all ranks find one with another size, and memory of another
 * process is refused. */
#include "src/base.h"
#include "trainer/comm/comm_internal.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "src/clock.h"
#include "t/tap.h"

#define N 3
#define MOST 200001 /* number of doubles, several times what is summed at once */

/* Memory that all processes see. */
static struct screen {
    volatile int offers; /* number of offers written */
    struct node_offer control;
    volatile int good;
} *screen;

static struct node *open_node(int rank, float **own, struct err *e)
{
    struct node *g;

    if (rank == 0) {
        g = node_offer(N, &screen->control, e);
        screen->offers = 1;
    } else {
        while (!screen->offers)
            clock_sleep(0.001);
        g = node_join(rank, N, &screen->control, e);
    }
    return g && node_share_buffer(g, false, MOST, own, e) == 0 ? g : NULL;
}

static bool sum_int64(struct node *g, int rank, size_t n, struct err *e)
{
    static int64_t v[MOST];

    for (size_t i = 0; i < n; i++)
        v[i] = (int64_t)i * (rank + 1) - 5;
    if (node_reduce(g, false, &(struct slice){v, n, REDUCE_SUM_INT64}, 1, NULL, NULL, e))
        return false;
    for (size_t i = 0; i < n; i++)
        if (v[i] != (int64_t)i * 6 - 15)
            return false;
    return true;
}

static bool sum_placed(struct node *g, int rank, float *own, struct err *e)
{
    static const float parts[N] = {1e8f, 1.0f, -1e8f};
    struct slice slices[2] = {{own, 7, REDUCE_SUM_FLOAT},
                                   {own + 7, MOST - 7, REDUCE_SUM_FLOAT}};

    for (size_t i = 0; i < MOST; i++)
        own[i] = parts[rank];
    if (node_reduce(g, false, slices, 2, NULL, NULL, e))
        return false;
    for (size_t i = 0; i < MOST; i++)
        if (own[i] != (parts[0] + parts[1]) + parts[2])
            return false;
    return true;
}

static bool maximum(struct node *g, int rank, struct err *e)
{
    double d[2] = {rank, -rank};

    return node_reduce(g, false, &(struct slice){d, 2, REDUCE_MAX_DOUBLE}, 1, NULL, NULL, e) == 0 &&
           d[0] == N - 1 && d[1] == 0;
}

static bool sum_small(struct node *g, int rank, struct err *e)
{
    double d[257];

    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < 257; i++)
            d[i] = (double)i * (rank + 1);
        if (node_reduce_small(g, round % 2, (struct slice){d, 257, REDUCE_SUM_DOUBLE}, NULL, NULL,
                              e))
            return false;
        for (size_t i = 0; i < 257; i++)
            if (d[i] != (double)i * 6)
                return false;
    }
    return true;
}

static bool all_sums(struct node *g, int rank, float *own, struct err *e)
{
    static const size_t sizes[] = {0, 1, 511, 513, 32768, MOST};

    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (!sum_int64(g, rank, sizes[i], e))
                return false;
    return sum_placed(g, rank, own, e) && sum_placed(g, rank, own, e) && maximum(g, rank, e) &&
           sum_small(g, rank, e);
}

static int check_time(void *arg, double waited_s, struct err *e)
{
    (void)arg;
    return waited_s < 0.3 ? 0 : err_set(e, ERR_PEER, "enough");
}

/* Rank 1 is killed, rank 2 brings another size, or nothing fails. */
enum trouble { NONE, KILLED, OTHER_SIZE };

static void run_process(int rank, enum trouble trouble)
{
    struct err e = {0};
    float *own;
    struct node *g = open_node(rank, &own, &e);
    bool good = g && all_sums(g, rank, own, &e);

    if (g && trouble == KILLED) {
        if (rank == 1)
            raise(SIGKILL);
        node_set_check(g, check_time, NULL, NULL);
        good = !sum_int64(g, rank, 4, &e) && e.code == ERR_PEER;
    } else if (g && trouble == OTHER_SIZE) {
        good = !sum_int64(g, rank, rank == 2 ? 5 : 4, &e) && strstr(e.text, "rank 2 of its node");
    }
    if (good)
        __atomic_fetch_add(&screen->good, 1, __ATOMIC_SEQ_CST);
    else
        fprintf(stderr, "# rank %d: %s\n", rank, e.text);
    node_destroy(g);
    _exit(0);
}

static void run_processes(enum trouble trouble)
{
    pid_t processes[N];

    *screen = (struct screen){.good = 0};
    for (int r = 0; r < N; r++)
        if ((processes[r] = fork()) == 0)
            run_process(r, trouble);
    for (int r = 0; r < N; r++)
        waitpid(processes[r], NULL, 0);
}

int main(void)
{
    struct node_offer offer;
    struct err e;

    screen = mmap(NULL, sizeof *screen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (screen == MAP_FAILED)
        bail_out("no memory");
    run_processes(NONE);
    is_int(screen->good, N, "sums of every size and place, the maximum, in the order of ranks");
    run_processes(KILLED);
    is_int(screen->good, N - 1, "a wait for a rank that was killed ends");
    run_processes(OTHER_SIZE);
    is_int(screen->good, N, "other sizes are found by all");

    struct node *g = node_offer(2, &offer, &e);
    offer.key[3] ^= 1;
    ok(!node_join(1, 2, &offer, &e) && strstr(e.text, "belongs to another process"),
       "memory that is not the one: %s", e.text);
    offer.path[sizeof "/proc/" - 1] = '0';
    ok(!node_join(1, 2, &offer, &e) && e.code == ERR_INTERNAL, "memory that is not there: %s",
       e.text);
    node_destroy(g);
    node_destroy(NULL);
    return done_testing();
}
