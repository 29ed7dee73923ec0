/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/cmd/bench_rounds.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/clock.h"
#include "src/rng.h"
#include "src/stat.h"
#include "trainer/comm/comm_mpi.h"
#include "trainer/comm/comm_self.h"
#include "trainer/comm/comm_thread.h"
#include "trainer/core/device.h"
#include "trainer/optim/optim.h"
#include "trainer/run/strategy.h"

#define SEED 1244
#define BUCKET ((size_t)256 << 10) /* floats of one sum: 1 MiB */
#define RATE 0.001
#define TIMEOUT_S 300

struct replica {
    const struct bench_rounds *bench;
    struct comm *comm;
    struct network *network;
    struct optim *optim;
    double *rates; /* images in a second of each round */
    size_t sent;   /* gradients below that are on their way */
    pthread_t thread;
    int rc;
    struct err e;
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
    struct replica *r = arg;
    const struct weights *w = network_weights(r->network);

    while (r->sent < upto && (upto - r->sent >= BUCKET || upto == w->nparams)) {
        size_t n = upto - r->sent < BUCKET ? upto - r->sent : BUCKET;
        if (r->comm->ops->start_sum_float(r->comm, w->grad + r->sent, n, e))
            return -1;
        r->sent += n;
    }
    return 0;
}

static int step(struct replica *r, struct err *e)
{
    const struct bench_rounds *b = r->bench;
    double images = (double)b->batch * r->comm->size, loss = 0;
    struct network_step whole = {.images = images,
                                 .weight = images * (double)network_targets(r->network)};
    struct weights *w = network_weights(r->network);

    struct device_update update;
    bool alone = r->comm->size == 1;
    whole.scaling = r->optim->scaling;
    if (r->optim->device)
        optim_plan(r->optim, w, RATE, 0, &update);
    if (r->optim->device && alone)
        whole.update = &update;
    r->sent = 0;
    if (network_train(r->network, b->batch, whole, &loss, alone ? NULL : start_buckets, r, e) ||
        r->comm->ops->wait(r->comm, e))
        return -1;
    if (r->optim->device)
        return alone ? 0 : network_update(r->network, &update, e);
    if (weights_have_penalty(w))
        weights_penalize(w);
    optim_step(r->optim, w, RATE);
    return 0;
}

/* count steps; *seconds: what they took until all replicas were through. */
static int take_steps(struct replica *r, int count, double *seconds, struct err *e)
{
    double began = clock_now(), loss;

    for (int i = 0; i < count; i++)
        if (step(r, e))
            return -1;
    if (network_wait(r->network, &loss, e) || r->comm->ops->barrier(r->comm, e))
        return -1;
    *seconds = clock_now() - began;
    return 0;
}

static int prepare(struct replica *r, struct err *e)
{
    struct network_config config = r->bench->network;

    config.device = r->comm->rank;
    r->rates = calloc((size_t)r->bench->rounds, sizeof *r->rates);
    if (!r->rates)
        return err_set(e, ERR_INTERNAL, "out of memory");
    r->network = network_create(&config, e);
    if (!r->network ||
        !(r->optim = optim_create(&(struct optim_config){.scaled = config.dtype == DTYPE_F16},
                                  network_weights(r->network), e)))
        return -1;
    for (int i = 0; i < DEVICE_SLOTS; i++)
        if (bench_rounds_fill(r->network, &config, true, r->bench->batch, e))
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

static int run_replica(struct replica *r, struct err *e)
{
    const struct bench_rounds *b = r->bench;
    bool talks = r->comm->rank == 0 && !b->json;
    double seconds;

    if (prepare(r, e))
        return -1;
    if (talks)
        print_head(b, r->network);
    if (take_steps(r, b->warmup, &seconds, e))
        return -1;
    for (int i = 0; i < b->rounds; i++) {
        if (take_steps(r, b->steps, &seconds, e))
            return -1;
        r->rates[i] = (double)b->batch * b->steps / seconds;
        if (talks)
            printf("Iter #%d: %.1f img/sec per GPU\n", i, r->rates[i]);
        fflush(stdout);
    }
    return 0;
}

static void print_result(const struct bench_rounds *b, const struct replica *r)
{
    double mean = stat_mean(r->rates, (size_t)b->rounds), squares = 0, n = b->gpus;

    for (int i = 0; i < b->rounds; i++)
        squares += (r->rates[i] - mean) * (r->rates[i] - mean) / b->rounds;
    double spread = 1.96 * sqrt(squares);
    if (b->json) {
        printf("{\"schema\":1,\"model\":\"%s\",\"height\":%d,\"width\":%d,\"batch_size\":%d,"
               "\"gpus\":%d,\"threads\":%d,\"backend\":\"%s\",\"warmup\":%d,\"iters\":%d,"
               "\"steps\":%d,\"img_per_s_per_gpu\":%.6g,\"img_per_s_per_gpu_196sd\":%.6g,"
               "\"img_per_s\":%.6g,\"img_per_s_196sd\":%.6g}\n", b->network.model,
               b->network.height, b->network.width, b->batch, b->gpus, b->network.threads,
               network_backend(r->network), b->warmup, b->rounds, b->steps, mean, spread, n * mean,
               n * spread);
        return;
    }
    printf("Img/sec per GPU: %.1f +-%.1f\nTotal img/sec on %d GPU(s): %.1f +-%.1f\n", mean, spread,
           b->gpus, n * mean, n * spread);
}

static void destroy(struct replica *r)
{
    optim_destroy(r->optim);
    network_destroy(r->network);
    free(r->rates);
}

static void *replica_main(void *arg)
{
    struct replica *r = arg;

    r->rc = run_replica(r, &r->e);
    if (r->rc)
        r->comm->ops->abort(r->comm, &r->e);
    return NULL;
}

static int run_threads(const struct bench_rounds *b, struct err *e)
{
    struct comm_thread_group *g = comm_thread_create(b->gpus, TIMEOUT_S, NULL, e);
    struct replica *replicas = g ? calloc((size_t)b->gpus, sizeof *replicas) : NULL;
    int rc = 0, started = 0;

    if (!replicas) {
        comm_thread_destroy(g);
        return g ? err_set(e, ERR_INTERNAL, "out of memory") : -1;
    }
    for (; started < b->gpus && rc == 0; started++) {
        struct replica *r = &replicas[started];
        *r = (struct replica){.bench = b, .comm = comm_thread_member(g, started)};
        int reason = pthread_create(&r->thread, NULL, replica_main, r);
        if (reason) {
            rc =
                err_errno(e, ERR_INTERNAL, reason, "cannot start a thread for replica %d", started);
            r->comm->ops->abort(r->comm, e);
            break;
        }
    }
    for (int i = 0; i < started; i++)
        pthread_join(replicas[i].thread, NULL);
    for (int i = started; i-- > 0 && rc == 0;)
        if (replicas[i].rc && (!replicas[i].comm->relayed || i == 0)) {
            *e = replicas[i].e;
            rc = -1;
        }
    if (rc == 0)
        print_result(b, &replicas[0]);
    for (int i = 0; i < started; i++)
        destroy(&replicas[i]);
    free(replicas);
    comm_thread_destroy(g);
    return rc;
}

/* One replica: alone, or as one of several tasks. */
static int run_one(const struct bench_rounds *b, struct err *e)
{
    struct comm *comm = b->gpus > 1 ? comm_mpi_open(-1, b->gpus, TIMEOUT_S, NULL, e)
                                    : comm_self_open(e);
    if (!comm)
        return -1;
    struct replica r = {.bench = b, .comm = comm};
    int rc = run_replica(&r, e);
    if (rc == 0 && comm->rank == 0)
        print_result(b, &r);
    if (rc)
        comm->ops->abort(comm, e);
    comm->ops->close(comm);
    destroy(&r);
    return rc;
}

int bench_rounds_run(const struct bench_rounds *b, struct err *e)
{
    int tasks = strategy_launched_tasks();

    if (tasks > 1 && tasks != b->gpus)
        return err_set(e, ERR_USAGE, "bench: --gpus %d, but %d tasks were started", b->gpus, tasks);
    return tasks > 1 || b->gpus == 1 ? run_one(b, e) : run_threads(b, e);
}
