/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/cmd/bench_rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/mem.h"
#include "src/rng.h"
#include "src/stat.h"
#include "trainer/comm/comm_mpi.h"
#include "trainer/comm/comm_node.h"
#include "trainer/comm/comm_self.h"
#include "trainer/core/device.h"
#include "trainer/run/local_ranks.h"
#include "trainer/run/strategy.h"

#define SEED 1244
#define BUCKET ((size_t)256 << 10) /* floats of one sum: 1 MiB */
#define RATE 0.001
#define TIMEOUT_S 300
#define END_S 2.0 /* for forked ranks to end after one has failed */

struct bench_rank {
    const struct bench_rounds *bench;
    struct bench_replica replica;
    double *rates; /* images per second of this replica in each round */
};

int bench_rounds_fill(struct network *n, const struct network_config *c, bool training, int batch,
                      struct err *e)
{
    size_t values = (size_t)batch * (size_t)c->height * (size_t)c->width * (size_t)c->channels;
    float *input = network_input(n, training, batch, e);
    float *target = input ? network_target(n, training, batch, e) : NULL;

    if (!target)
        return -1;
    for (size_t i = 0; i < values; i++)
        input[i] = (float)rng_uniform(SEED, 1, i);
    for (size_t i = 0; i < (size_t)batch * network_targets(n); i++)
        target[i] = (float)(int)(rng_uniform(SEED, 2, i) * (c->classes < 2 ? 2 : c->classes));
    return 0;
}

static int start_buckets(void *arg, size_t upto, struct err *e)
{
    struct bench_replica *r = arg;
    const struct weights *w = network_weights(r->network);

    while (r->started < upto && (upto - r->started >= BUCKET || upto == w->nparams)) {
        size_t n = upto - r->started < BUCKET ? upto - r->started : BUCKET;
        if (r->comm->ops->start_sum_float(r->comm, w->grad + r->started, n, e))
            return -1;
        r->started += n;
    }
    return 0;
}

int bench_rounds_step(struct bench_replica *r, int batch, struct err *e)
{
    bool alone = !r->comm || r->comm->size == 1;
    double images = (double)batch * (alone ? 1 : r->comm->size), loss = 0;
    struct network_step whole = {.images = images,
                                 .weight = images * (double)network_targets(r->network),
                                 .scaling = r->optim->scaling};
    struct weights *w = network_weights(r->network);
    struct device_update update;

    if (r->optim->device) {
        optim_plan(r->optim, w, RATE, 0, &update);
        whole.update = &update;
    }
    r->started = 0;
    if (network_train(r->network, batch, whole, &loss, alone ? NULL : start_buckets, r, e) ||
        (!alone && r->comm->ops->wait(r->comm, e)))
        return -1;
    if (r->optim->device)
        return 0;
    if (weights_have_penalty(w))
        weights_penalize(w);
    optim_step(r->optim, w, RATE);
    return 0;
}

/* Sets *seconds to the time until all replicas have completed `count` steps. */
static int take_steps(struct bench_rank *t, int count, double *seconds, struct err *e)
{
    struct bench_replica *r = &t->replica;
    double began = clock_now(), loss;

    for (int i = 0; i < count; i++)
        if (bench_rounds_step(r, t->bench->batch, e))
            return -1;
    if (network_wait(r->network, &loss, e) || r->comm->ops->barrier(r->comm, e))
        return -1;
    *seconds = clock_now() - began;
    return 0;
}

static int open_replica(struct bench_rank *t, struct err *e)
{
    struct network_config config = t->bench->network;
    struct bench_replica *r = &t->replica;

    config.device = r->comm->rank;
    t->rates = mem_zero((size_t)t->bench->rounds, sizeof *t->rates, e);
    if (!t->rates)
        return -1;
    r->network = network_create(&config, e);
    if (r->network && network_device(r->network) && r->comm->size > 1)
        return err_set(e, ERR_USAGE, "bench: --gpus %d: several GPUs need NCCL, which only train "
                       "uses; measure one, or train a few epochs", r->comm->size);
    if (!r->network ||
        !(r->optim = optim_create(&(struct optim_config){.scaled = config.dtype == DTYPE_F16},
                                  network_weights(r->network), e)))
        return -1;
    for (int i = 0; i < DEVICE_SLOTS; i++)
        if (bench_rounds_fill(r->network, &config, true, t->bench->batch, e))
            return -1;
    return 0;
}

static void print_head(const struct bench_rounds *b, const struct network *n)
{
    printf("Model: %s, %dx%dx%d, backend %s\nBatch size: %d\nNumber of GPUs: %d\n"
           "Warm-up: %d batches; then %d times %d batches\n", b->network.model, b->network.height,
           b->network.width, b->network.channels, network_backend(n), b->batch, b->gpus, b->warmup,
           b->rounds, b->steps);
}

static int run_replica(struct bench_rank *t, struct err *e)
{
    const struct bench_rounds *b = t->bench;
    bool prints = t->replica.comm->rank == 0 && !b->json;
    double seconds;

    if (open_replica(t, e))
        return -1;
    if (prints)
        print_head(b, t->replica.network);
    if (take_steps(t, b->warmup, &seconds, e))
        return -1;
    for (int i = 0; i < b->rounds; i++) {
        if (take_steps(t, b->steps, &seconds, e))
            return -1;
        t->rates[i] = (double)b->batch * b->steps / seconds;
        if (prints)
            printf("Iter #%d: %.1f img/sec per GPU\n", i, t->rates[i]);
        fflush(stdout);
    }
    return 0;
}

static void print_result(const struct bench_rounds *b, const struct bench_rank *t)
{
    double mean = stat_mean(t->rates, (size_t)b->rounds), squares = 0, n = b->gpus;

    for (int i = 0; i < b->rounds; i++)
        squares += (t->rates[i] - mean) * (t->rates[i] - mean) / b->rounds;
    double spread = 1.96 * sqrt(squares);
    if (b->json) {
        printf("{\"schema\":1,\"model\":\"%s\",\"height\":%d,\"width\":%d,\"batch_size\":%d,"
               "\"gpus\":%d,\"threads\":%d,\"backend\":\"%s\",\"warmup\":%d,\"iters\":%d,"
               "\"steps\":%d,\"img_per_s_per_gpu\":%.6g,\"img_per_s_per_gpu_196sd\":%.6g,"
               "\"img_per_s\":%.6g,\"img_per_s_196sd\":%.6g}\n",
               b->network.model, b->network.height, b->network.width, b->batch, b->gpus,
               b->network.threads, network_backend(t->replica.network), b->warmup, b->rounds,
               b->steps, mean, spread, n * mean, n * spread);
        return;
    }
    printf("Img/sec per GPU: %.1f +-%.1f\nTotal img/sec on %d GPU(s): %.1f +-%.1f\n", mean, spread,
           b->gpus, n * mean, n * spread);
}

static void close_replica(struct bench_rank *t)
{
    optim_destroy(t->replica.optim);
    network_destroy(t->replica.network);
    free(t->rates);
}

/* Runs the replica of this process; owns comm. Rank 0 prints the result. */
static int run_with(const struct bench_rounds *b, struct comm *comm, struct err *e)
{
    struct bench_rank t = {.bench = b, .replica.comm = comm};
    int rc = comm ? run_replica(&t, e) : -1;

    if (!comm)
        return -1;
    if (rc == 0 && comm->rank == 0)
        print_result(b, &t);
    if (rc)
        comm->ops->abort(comm, e);
    comm->ops->close(comm);
    close_replica(&t);
    return rc;
}

/* A local_rank_f. */
static int run_forked(void *arg, const struct local_ranks *ranks, bool *relayed, struct err *e)
{
    struct comm_node_config config = {.rank = ranks->rank, .size = ranks->size,
                                      .host = "this host", .offer = &ranks->node,
                                      .timeout_s = TIMEOUT_S};

    *relayed = false;
    return run_with(arg, comm_node_open(&config, e), e);
}

int bench_rounds_run(const struct bench_rounds *b, struct err *e)
{
    int tasks = strategy_launched_tasks();
    char host[256] = "";
    struct comm_mpi_config mpi = {.rank = -1, .size = b->gpus, .host = host,
                                  .timeout_s = TIMEOUT_S};

    gethostname(host, sizeof host - 1);
    if (tasks > 1 && tasks != b->gpus)
        return err_set(e, ERR_USAGE, "bench: --gpus is %d, but %d tasks were started", b->gpus,
                       tasks);
    if (tasks > 1)
        return run_with(b, comm_mpi_open(&mpi, e), e);
    return b->gpus == 1 ? run_with(b, comm_self_open(e), e)
                        : local_ranks_run(b->gpus, END_S, run_forked, (void *)(uintptr_t)b, e);
}
