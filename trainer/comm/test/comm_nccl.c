/* SPDX-License-Identifier: BSD-3-Clause */
/* The NCCL communicator over emulated GPUs (nccl_emulated.c): every collective with ranks as
 * threads and as processes; with threads also sums in a device's queue and in recorded programs,
 * and what ends a wait. With an operand from 1 to 4, in a build without the emulation: the
 * collectives and the sums in queues, of that many threads on as many GPUs with the real NCCL. */
#include "config.h"
#include "trainer/backends/backends.h"
#include "trainer/comm/comm_nccl.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/clock.h"
#include "t/tap.h"
#include "trainer/comm/comm_thread.h"
#include "trainer/comm/test/check.h"

#define MOST_RANKS 4

struct rank {
    struct device_comm gpu;
    struct comm_nccl_config config;
    int (*body)(struct comm *c, struct device *d, struct err *e);
    int index, rc;
    struct err e;
    double seconds;
};

/* Opens the communicator in the thread or process that uses it, as the trainer does, calls r->body
 * with it, and closes it. Sets r->rc and r->seconds. */
static void *run_rank(void *arg)
{
    struct rank *r = arg;
    const struct device_ops *ops = backend_find("cuda")->device;
    struct device *d = ops->open(r->index, &r->e);
    struct comm *c = NULL;
    double began = clock_now();

    r->rc = -1;
    r->gpu.ops = ops;
    r->gpu.device = d;
    r->config.gpu = &r->gpu;
    if (d)
        c = comm_nccl_open(&r->config, &r->e);
    if (c) {
        r->rc = r->body(c, d, &r->e);
        if (r->rc)
            c->ops->abort(c, &r->e);
        c->ops->close(c);
    }
    r->seconds = clock_now() - began;
    ops->close(d);
    return NULL;
}

static struct nccl_id new_id(void)
{
    struct nccl_id id;
    struct err e;

    if (nccl_library_open(&e)->get_id(&id))
        bail_out("no id");
    return id;
}

static struct rank new_rank(int rank, int size, const struct nccl_id *id, double timeout_s,
                            int (*body)(struct comm *, struct device *, struct err *))
{
    struct err e;

    return (struct rank){
        .gpu = {.nccl = nccl_library_open(&e), .id = *id},
        .config = {.rank = rank, .size = size, .host = "n07", .timeout_s = timeout_s},
        .body = body, .index = rank};
}

static void run_threads(int size, double timeout_s, const atomic_int *interrupt, bool group,
                        int (*body)(struct comm *, struct device *, struct err *),
                        struct rank *ranks)
{
    struct err e;
    pthread_t threads[MOST_RANKS];
    struct nccl_id id = new_id();
    struct comm_thread_group *g = comm_thread_create(size, timeout_s, interrupt, &e);

    if (!g)
        bail_out("%s", e.text);
    for (int r = 0; r < size; r++) {
        ranks[r] = new_rank(r, size, &id, timeout_s, body);
        ranks[r].config.interrupt = interrupt;
        ranks[r].config.thread = group ? comm_thread_member(g, r) : NULL;
        if (pthread_create(&threads[r], NULL, run_rank, &ranks[r]))
            bail_out("no thread");
    }
    for (int r = 0; r < size; r++)
        pthread_join(threads[r], NULL);
    comm_thread_destroy(g);
}

static int all_collectives(struct comm *c, struct device *d, struct err *e)
{
    (void)d;
    return check_collectives(c, e);
}

static void test_threads(int least, int most)
{
    struct rank ranks[MOST_RANKS];

    for (int size = least; size <= most; size++) {
        run_threads(size, 60, NULL, true, all_collectives, ranks);
        for (int r = 0; r < size; r++)
            ok(ranks[r].rc == 0, "nccl: all collectives, thread %d of %d %s", r, size,
               ranks[r].e.text);
    }
}

static void test_processes(void)
{
    struct nccl_id id = new_id();
    pid_t children[3];
    int status;

    for (int r = 0; r < 3; r++) {
        children[r] = fork();
        if (children[r] < 0)
            bail_out("no process");
        if (children[r] == 0) {
            struct rank rank = new_rank(r, 3, &id, 60, all_collectives);
            run_rank(&rank);
            if (rank.rc)
                fprintf(stderr, "%s\n", rank.e.text);
            _exit(rank.rc != 0);
        }
    }
    for (int r = 0; r < 3; r++)
        ok(waitpid(children[r], &status, 0) == children[r] && status == 0,
           "nccl: all collectives, process %d of 3", r);
}

/* ---- sums in the queue */

#define N 20001

static int fill(const struct device_ops *ops, struct device *d, float *host, float *own, int rank,
                struct err *e)
{
    for (size_t i = 0; i < N; i++)
        host[i] = (float)(i % 100) + (float)rank;
    return ops->copy(d, own, host, N * sizeof *host, e) || ops->drain(d, e) ? -1 : 0;
}

static int verify(const struct device_ops *ops, struct device *d, const struct comm *c, float *host,
                  const float *own, const char *what, struct err *e)
{
    if (ops->copy(d, host, own, N * sizeof *host, e) || ops->drain(d, e))
        return -1;
    for (size_t i = 0; i < N; i++)
        if (host[i] != (float)(c->size * (int)(i % 100)) + (float)(c->size * (c->size - 1) / 2))
            return err_set(e, ERR_INTERNAL, "%s: element %zu is %g", what, i, (double)host[i]);
    return 0;
}

/* Slices queued one after the other, in the order of a backward pass: directly, recorded, and
 * replayed. */
static int sums_in_queue(struct comm *c, struct device *d, struct err *e)
{
    const struct device_ops *ops = backend_find("cuda")->device;
    float *host = ops->alloc(d, DEVICE_HOST, N * sizeof *host, e);
    struct device_program *program = NULL;
    void *own = NULL;
    int rc = !host || c->ops->queue_place(c, N * sizeof *host, &own, e) || !own ? -1 : 0;

    for (int round = 0; rc == 0 && round < 4; round++) {
        rc = fill(ops, d, host, own, c->rank, e);
        if (rc == 0 && round == 1)
            rc = ops->record(d, e);
        if (rc == 0 && round < 2)
            rc = c->ops->queue_sum(c, ops->stream(d), own, 7000, REDUCE_SUM_FLOAT, e) ||
                 c->ops->queue_sum(c, ops->stream(d), (float *)own + 7000, N - 7000,
                                   REDUCE_SUM_FLOAT, e);
        if (rc == 0 && round == 1)
            rc = (program = ops->finish(d, e)) ? 0 : -1;
        if (rc == 0 && round > 0)
            rc = ops->replay(d, program, e);
        if (rc == 0)
            rc = verify(ops, d, c, host, own, round ? "replayed" : "queued", e);
    }
    ops->discard(program);
    ops->free(d, DEVICE_HOST, host);
    return rc;
}

static void test_queue(int size)
{
    struct rank ranks[MOST_RANKS];

    run_threads(size, 60, NULL, true, sums_in_queue, ranks);
    for (int r = 0; r < size; r++)
        ok(ranks[r].rc == 0, "sums in the queue, recorded and replayed, rank %d %s", r,
           ranks[r].e.text);
}

/* ---- what ends a wait */

static int fail_on_one(struct comm *c, struct device *d, struct err *e)
{
    (void)d;
    if (c->ops->barrier(c, e))
        return -1;
    if (c->rank == 1)
        return err_set(e, ERR_DATA, "image 7 is broken");
    return c->ops->barrier(c, e);
}

static int stay_away(struct comm *c, struct device *d, struct err *e)
{
    (void)d;
    if (c->rank != 1)
        return c->ops->barrier(c, e);
    double until = clock_now() + 3;
    while (clock_now() < until)
        usleep(10000);
    return 0;
}

static void test_failures(void)
{
    static const atomic_int terminated = SIGTERM;
    struct rank r[MOST_RANKS];
    struct nccl_id id = new_id();

    r[0] = new_rank(0, 2, &id, 0.3, all_collectives);
    run_rank(&r[0]);
    ok(r[0].rc && r[0].e.code == ERR_PEER && strstr(r[0].e.text, "rank 0 of 2 on n07") &&
           strstr(r[0].e.text, "within 0.3 s"), "ranks that do not come: %s", r[0].e.text);
    ok(r[0].seconds < 10, "in time (%.1f s)", r[0].seconds);
    unlink(id.bytes);

    run_threads(3, 60, NULL, true, fail_on_one, r);
    ok(r[0].rc && r[2].rc && r[0].e.code == ERR_DATA &&
           strstr(r[0].e.text, "rank 1: image 7 is broken"),
       "a thread's error ends the others: %s", r[0].e.text);
    run_threads(3, 60, NULL, false, fail_on_one, r);
    ok(r[0].rc && r[2].rc && strstr(r[0].e.text, "rank 0 of 3 on n07: NCCL: a barrier") &&
           strstr(r[0].e.text, "remote process exited"),
       "what NCCL notices by itself ends a wait: %s", r[0].e.text);
    run_threads(3, 0.3, NULL, true, stay_away, r);
    /* The rank that times out first aborts the other's connection. */
    const struct err *first = strstr(r[0].e.text, "within") ? &r[0].e : &r[2].e;
    ok(r[0].rc && r[2].rc && first->code == ERR_PEER && strstr(first->text, "a barrier") &&
           strstr(first->text, "within 0.3 s"), "a wait ends: %s", first->text);
    ok(r[0].seconds < 2.5, "in time (%.1f s)", r[0].seconds);
    run_threads(2, 60, &terminated, true, stay_away, r);
    ok(r[0].rc && r[0].e.code == 128 + SIGTERM, "a signal ends a wait: %s", r[0].e.text);
}

static int test_gpus(int size)
{
    const struct device_ops *ops = backend_find("cuda")->device;
    struct err e;
    struct device *d = ops->open(0, &e);

    if (!d)
        skip_all(e.text);
    ops->close(d);
    if (!nccl_library_open(&e))
        skip_all(e.text);
    test_threads(size, size);
    test_queue(size);
    return done_testing();
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 0;

    if (size > 0 && size <= MOST_RANKS)
        return test_gpus(size);
    test_threads(1, MOST_RANKS);
    test_processes();
    test_queue(3);
    test_failures();
    return done_testing();
}
