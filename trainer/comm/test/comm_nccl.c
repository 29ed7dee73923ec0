/* SPDX-License-Identifier: BSD-3-Clause */
/* The NCCL communicator over emulated GPUs (nccl_emulated.c): every collective, sums in a device's
 * queue and in recordings, and what ends a wait. Ranks are processes. In a build without the
 * emulation, with the real NCCL:
 *
 *   nccl_gpu.t N           N ranks (1 to 4), processes with a GPU each
 *   nccl_gpu.t N shared    the same on one GPU, connected by sockets
 *
 * Exits with 77 where there is no GPU, or no NCCL. */
#include "src/base.h"
#include "trainer/backends/backends.h"
#include "trainer/comm/comm_open.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "src/clock.h"
#include "t/tap.h"
#include "trainer/comm/test/check.h"

#define MOST_RANKS 4

struct rank {
    struct device_comm gpu;
    struct comm_config config;
    int (*body)(struct comm *c, struct device *d, struct err *e);
    int index, rc;
    struct err e;
    double seconds;
};

/* Opens the communicator, calls r->body with it, and closes it. Sets r->rc and r->seconds. */
static void run_rank(struct rank *r)
{
    const struct device_ops *ops = backend_find("cuda")->device;
    struct device *d = ops->open(r->index, &r->e);
    struct comm *c = NULL;
    double began = clock_now();

    r->rc = -1;
    r->gpu.ops = ops;
    r->gpu.device = d;
    if (d)
        c = comm_nccl_open(&r->config, &r->gpu, &r->e);
    if (c) {
        r->rc = r->body(c, d, &r->e);
        if (r->rc)
            c->ops->abort(c, &r->e);
        c->ops->close(c);
    }
    r->seconds = clock_now() - began;
    ops->close(d);
}

static struct nccl_id new_id(void)
{
    struct nccl_id id;
    struct err e;

    if (nccl_library_open(&e)->get_id(&id))
        bail_out("no id");
    return id;
}

/* Returns whether NCCL orders the work of two communicators; so do drivers for CUDA 12.9. */
static bool prepare(void)
{
    struct err e;
    int version = 0;

    (void)nccl_library_open(&e)->get_version(&version);
    return device_comm_prepare(version, 12090, false);
}

static struct rank new_rank(int rank, int size, const struct nccl_id *id, double timeout_s,
                            int (*body)(struct comm *, struct device *, struct err *))
{
    struct err e;

    return (struct rank){
        .gpu = {.nccl = nccl_library_open(&e), .is_ordered = prepare(), .id = *id},
        .config = {.rank = rank, .size = size, .host = "n07", .timeout_s = timeout_s},
        .body = body, .index = rank};
}

static int all_collectives(struct comm *c, struct device *d, struct err *e)
{
    (void)d;
    return check_collectives(c, e);
}

/* What processes share. */
struct shared {
    atomic_bool has_id;
    struct nccl_id id; /* by rank 0 */
    struct { int rc; struct err e; double seconds; } ranks[MOST_RANKS];
};

static bool shares_gpu; /* all processes use one GPU */
static double most_s = 2; /* until a wait for a lost process ends */
static const atomic_int *interrupt; /* of all ranks */

/* NCCL connects ranks with one GPU if it takes them for ranks on different hosts. */
static void pretend_hosts(int rank)
{
    char name[32];

    snprintf(name, sizeof name, "rank-%d", rank);
    setenv("NCCL_HOSTID", name, 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    setenv("NCCL_IB_DISABLE", "1", 1);
}

static void be_rank(struct shared *s, int r, int size, double timeout_s,
                    int (*body)(struct comm *, struct device *, struct err *))
{
    double until = clock_now() + 30;

    (void)prepare();
    if (shares_gpu)
        pretend_hosts(r);
    if (r == 0) {
        s->id = new_id();
        s->has_id = true;
    }
    while (!s->has_id && clock_now() < until)
        usleep(1000);
    struct rank rank = new_rank(r, size, &s->id, timeout_s, body);
    rank.config.interrupt = interrupt;
    rank.index = shares_gpu ? 0 : r;
    run_rank(&rank);
    s->ranks[r].rc = rank.rc;
    s->ranks[r].e = rank.e;
    s->ranks[r].seconds = rank.seconds;
    _exit(0);
}

/* Runs the body as processes. A rank that is killed leaves rc as -1 with an empty error. */
static struct shared *run_processes(int size, double timeout_s,
                                    int (*body)(struct comm *, struct device *, struct err *))
{
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                            -1, 0);
    pid_t children[MOST_RANKS];

    if (s == MAP_FAILED)
        bail_out("no memory");
    for (int r = 0; r < size; r++) {
        s->ranks[r].rc = -1;
        children[r] = fork();
        if (children[r] < 0)
            bail_out("no process");
        if (children[r] == 0)
            be_rank(s, r, size, timeout_s, body);
    }
    for (int r = 0; r < size; r++)
        (void)waitpid(children[r], NULL, 0);
    return s;
}

static void pass_in_processes(int size, const char *what,
                              int (*body)(struct comm *, struct device *, struct err *))
{
    struct shared *s = run_processes(size, 60, body);

    for (int r = 0; r < size; r++)
        ok(s->ranks[r].rc == 0, "%s, process %d of %d %s", what, r, size, s->ranks[r].e.text);
    munmap(s, sizeof *s);
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

struct slices {
    struct comm *c;
    void *stream;
    float *own;
    struct device *device;
};

/* A device_work_f: slices one after the other, in the order of a backward pass. */
static int queue_slices(void *arg, struct err *e)
{
    const struct slices *s = arg;
    struct comm *c = s->c;

    return c->ops->queue_sum(c, s->stream, false, s->own, 7000, REDUCE_SUM_FLOAT, e) ||
                   c->ops->queue_sum(c, s->stream, false, s->own + 7000, N - 7000,
                                     REDUCE_SUM_FLOAT, e)
               ? -1
               : 0;
}

/* Sums directly, then recorded and replayed. */
static int sums_in_queue(struct comm *c, struct device *d, struct err *e)
{
    const struct device_ops *ops = backend_find("cuda")->device;
    float *host = ops->alloc(d, DEVICE_HOST, N * sizeof *host, e);
    struct device_graph *graph = NULL;
    float *own = host ? ops->alloc(d, DEVICE_LOCAL, N * sizeof *own, e) : NULL;
    int rc = own ? 0 : -1;
    struct slices slices = {c, ops->stream(d), own, d};

    for (int round = 0; rc == 0 && round < 4; round++) {
        bool replays = round > 0;
        rc = fill(ops, d, host, own, c->rank, e);
        if (rc == 0 && replays && !graph)
            rc = (graph = ops->capture(d, queue_slices, &slices, e)) ? 0 : -1;
        if (rc == 0)
            rc = replays ? ops->launch(d, graph, e) : queue_slices(&slices, e);
        if (rc == 0)
            rc = verify(ops, d, c, host, own, replays ? "replayed" : "queued", e);
    }
    ops->discard(graph);
    ops->free(d, DEVICE_HOST, host);
    ops->free(d, DEVICE_LOCAL, own);
    return rc;
}

/* A device_watch_f. */
static int watch_peers(void *arg, double waited_s, struct err *e)
{
    struct comm *c = arg;

    return c->ops->check(c, waited_s, e);
}

/* Rank 0 queues a sum of gradients and then waits for an urgent sum; the others queue theirs only
 * after the urgent one is done, as a rank whose backward is late. */
static int sum_urgently(struct comm *c, struct device *d, struct err *e)
{
    const struct device_ops *ops = backend_find("cuda")->device;
    float *host = ops->alloc(d, DEVICE_HOST, N * sizeof *host, e);
    float *own = host ? ops->alloc(d, DEVICE_LOCAL, 2 * N * sizeof *own, e) : NULL;
    void *beside = own ? ops->branch(d, DEVICE_BESIDE, e) : NULL;
    struct slices late = {c, beside, own ? own + N : NULL, d};
    void *urgent = NULL;

    ops->watch(d, watch_peers, c);
    int rc = beside ? fill(ops, d, host, own, c->rank, e) : -1;

    if (rc == 0 && c->rank == 0)
        rc = queue_slices(&late, e);
    if (rc == 0)
        rc = (urgent = ops->branch(d, DEVICE_URGENT, e)) &&
                     c->ops->queue_sum(c, urgent, true, own, N, REDUCE_SUM_FLOAT, e) == 0 &&
                     ops->merge(d, DEVICE_URGENT, e) == 0
                 ? 0 : -1;
    if (rc == 0)
        rc = verify(ops, d, c, host, own, "an urgent sum", e);
    if (rc == 0 && c->rank > 0)
        rc = queue_slices(&late, e);
    rc = rc || ops->merge(d, DEVICE_BESIDE, e) || ops->drain(d, e) ? -1 : 0;
    if (rc)
        return -1; /* what is queued uses the memory until the communicator is aborted */
    ops->free(d, DEVICE_HOST, host);
    ops->free(d, DEVICE_LOCAL, own);
    return 0;
}

/* Each two ranks exchange memory of their devices. */
static int exchange_memory(struct comm *c, struct device *d, struct err *e)
{
    const struct device_ops *ops = backend_find("cuda")->device;
    size_t nbytes = N * sizeof(float);
    float *host = ops->alloc(d, DEVICE_HOST, nbytes, e);
    float *own = host ? ops->alloc(d, DEVICE_LOCAL, 2 * nbytes, e) : NULL;
    int rc = own ? 0 : -1;

    for (int distance = 1; rc == 0 && distance < c->size; distance++) {
        int peer = c->rank ^ distance; /* pairs that are at work at the same time */
        if (peer >= c->size)
            continue;
        rc = fill(ops, d, host, own, c->rank, e);
        if (rc == 0)
            rc = c->ops->exchange(c, peer, (char *)own, nbytes, e);
        rc = rc || ops->copy(d, host, own + N, nbytes, e) || ops->drain(d, e) ? -1 : 0;
        for (size_t i = 0; rc == 0 && i < N; i++)
            if (host[i] != (float)(i % 100) + (float)peer)
                rc = err_set(e, ERR_INTERNAL, "exchange: element %zu is %g", i, (double)host[i]);
    }
    ops->free(d, DEVICE_HOST, host);
    ops->free(d, DEVICE_LOCAL, own);
    return rc;
}

/* Rank 0 records, the others do not. */
static int record_on_one(struct comm *c, struct device *d, struct err *e)
{
    const struct device_ops *ops = backend_find("cuda")->device;
    float *own = ops->alloc(d, DEVICE_LOCAL, N * sizeof *own, e);
    struct slices slices = {c, ops->stream(d), own, d};
    struct device_graph *p = NULL;
    int rc = own ? 0 : -1;

    if (rc == 0 && c->rank == 0)
        rc = (p = ops->capture(d, queue_slices, &slices, e)) && ops->launch(d, p, e) == 0 ? 0 : -1;
    else if (rc == 0)
        rc = queue_slices(&slices, e);
    if (rc == 0)
        rc = c->ops->barrier(c, e);
    ops->discard(p);
    return rc;
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

/* Prints how each of the ranks that failed has failed. */
static bool have_failed(const struct shared *s, int size, int but, int code, const char *text)
{
    bool all = true;

    for (int r = 0; r < size; r++)
        all &= r == but || (s->ranks[r].rc && s->ranks[r].e.code == code &&
                            strstr(s->ranks[r].e.text, text));
    return all;
}

static void test_failures(void)
{
    static const atomic_int terminated = SIGTERM;
    struct nccl_id id = new_id();
    struct rank alone = new_rank(0, 2, &id, 0.3, all_collectives);
    struct shared *s;

    run_rank(&alone);
    ok(alone.rc && alone.e.code == ERR_PEER && strstr(alone.e.text, "rank 0 of 2 on n07") &&
           strstr(alone.e.text, "within 0.3 s"), "ranks that do not come: %s", alone.e.text);
    ok(alone.seconds < 10, "in time (%.1f s)", alone.seconds);
    unlink(id.bytes);

    s = run_processes(3, 60, fail_on_one);
    ok(have_failed(s, 3, 1, ERR_PEER, "NCCL: a barrier") &&
           strstr(s->ranks[0].e.text, "remote process exited"),
       "what NCCL notices by itself ends a wait: %s", s->ranks[0].e.text);
    munmap(s, sizeof *s);
    s = run_processes(3, 0.3, stay_away);
    /* The rank that times out first aborts the other's connection. */
    const struct err *zero = &s->ranks[0].e, *first = strstr(zero->text, "within")
                                                          ? zero : &s->ranks[2].e;
    ok(s->ranks[0].rc && s->ranks[2].rc && first->code == ERR_PEER &&
           strstr(first->text, "a barrier") && strstr(first->text, "within 0.3 s"),
       "a wait ends: %s", first->text);
    ok(s->ranks[0].seconds < 2.5, "in time (%.1f s)", s->ranks[0].seconds);
    munmap(s, sizeof *s);
    interrupt = &terminated;
    s = run_processes(2, 60, stay_away);
    ok(have_failed(s, 2, 1, 128 + SIGTERM, ""), "a signal ends a wait: %s", s->ranks[0].e.text);
    munmap(s, sizeof *s);
    interrupt = NULL;
}

/* ---- what ends a process's wait */

static int kill_one(struct comm *c, struct device *d, struct err *e)
{
    (void)d;
    if (c->ops->barrier(c, e))
        return -1;
    if (c->rank == 1)
        raise(SIGKILL);
    return c->ops->barrier(c, e);
}

/* A device_work_f: sums of both of NCCL's communicators. */
static int queue_both(void *arg, struct err *e)
{
    const struct slices *s = arg;
    const struct device_ops *ops = backend_find("cuda")->device;
    void *urgent = ops->branch(s->device, DEVICE_URGENT, e);

    return !urgent || s->c->ops->queue_sum(s->c, urgent, true, s->own, N, REDUCE_SUM_FLOAT, e) ||
                   ops->merge(s->device, DEVICE_URGENT, e) || queue_slices(arg, e)
               ? -1
               : 0;
}

/* The others' graph is in flight. */
static int kill_in_graph(struct comm *c, struct device *d, struct err *e)
{
    const struct device_ops *ops = backend_find("cuda")->device;
    float *own = ops->alloc(d, DEVICE_LOCAL, N * sizeof *own, e);
    struct slices slices = {c, ops->stream(d), own, d};
    struct device_graph *graph = NULL;

    ops->watch(d, watch_peers, c);
    int rc = own && ops->clear(d, own, N * sizeof *own, e) == 0 &&
                     (graph = ops->capture(d, queue_both, &slices, e)) &&
                     ops->launch(d, graph, e) == 0 && ops->drain(d, e) == 0
                 ? 0
                 : -1;
    if (rc == 0 && c->rank == 1)
        raise(SIGKILL);
    rc = rc || ops->launch(d, graph, e) || ops->drain(d, e) ? -1 : 0;
    ops->discard(graph);
    return rc;
}

static void fail_in_processes(const char *what,
                              int (*body)(struct comm *, struct device *, struct err *))
{
    struct shared *s = run_processes(2, most_s, body);

    ok(s->ranks[0].rc && s->ranks[0].e.code == ERR_PEER, "%s: %s", what, s->ranks[0].e.text);
    ok(s->ranks[0].seconds < most_s + 10, "in time (%.1f s)", s->ranks[0].seconds);
    munmap(s, sizeof *s);
}

static void test_processes(int size)
{
    pass_in_processes(size, "all collectives", all_collectives);
    pass_in_processes(size, "sums in the queue, recorded and replayed", sums_in_queue);
    pass_in_processes(size, "exchanges of two ranks", exchange_memory);
    if (size < 2)
        return;
    pass_in_processes(size, "an urgent sum before one that another rank has not begun", sum_urgently);
    fail_in_processes("a process that aborts ends the others", fail_on_one);
    fail_in_processes("so does one that is killed", kill_one);
    fail_in_processes("and one that is killed while sums of a graph are in flight", kill_in_graph);
}

/* What NCCL need not notice, but the emulation does. */
static void test_refused(void)
{
    struct shared *s = run_processes(2, 5, record_on_one);

    ok(s->ranks[0].rc && strstr(s->ranks[0].e.text, "ranks do not record or replay the same"),
       "a rank that records by itself: %s", s->ranks[0].e.text);
    munmap(s, sizeof *s);
    setenv("EMULATE_GPUS", "1", 1);
    s = run_processes(2, 5, all_collectives);
    ok(s->ranks[0].rc && strstr(s->ranks[0].e.text, "Duplicate GPU"), "two ranks on a GPU: %s",
       s->ranks[0].e.text);
    munmap(s, sizeof *s);
    setenv("EMULATE_GPUS", "4", 1);
    setenv("EMULATE_NCCL", "22504", 1);
    pass_in_processes(2, "all collectives of an NCCL that does not order two communicators",
                      all_collectives);
    pass_in_processes(2, "its sums in the queue", sums_in_queue);
    fail_in_processes("one that is killed while its sums are in flight", kill_in_graph);
    unsetenv("EMULATE_NCCL");
    setenv("EMULATE_GPUS", "1", 1);
    shares_gpu = true;
    test_processes(2);
    shares_gpu = false;
    setenv("EMULATE_GPUS", "4", 1);
}

/* Opens GPU and library in a process of its own, as a process that has used CUDA cannot fork. */
static int find_gpu(void)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        const struct device_ops *ops = backend_find("cuda")->device;
        struct err e;
        struct device *d = ops->open(0, &e);
        if (d && nccl_library_open(&e))
            _exit(0);
        printf("1..0 # skip %s\n", e.text);
        fflush(stdout);
        _exit(ERR_SKIP);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : 1;
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 0;

    if (size > 0 && size <= MOST_RANKS) {
        int rc = find_gpu();
        shares_gpu = argc > 2 && strcmp(argv[2], "shared") == 0;
        if (rc)
            return rc;
        most_s = 20; /* NCCL connects within that, too */
        test_processes(size);
        return done_testing();
    }
    setenv("EMULATE_GPUS", "4", 1);
    for (size = 1; size <= MOST_RANKS; size++)
        pass_in_processes(size, "all collectives", all_collectives);
    test_failures();
    test_processes(3);
    test_refused();
    return done_testing();
}
