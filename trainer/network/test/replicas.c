/* SPDX-License-Identifier: BSD-3-Clause */
/* 2 or 3 replicas (threads), whose gradients are summed, compute the same up to rounding as one
 * replica with all their images, if batch norm is absent or synchronised. */
#include "src/base.h"
#include "trainer/backends/backends.h"
#include "trainer/network/network.h"

#include <math.h>
#include <pthread.h>

#include "src/rng.h"
#include "t/tap.h"

#define REPLICAS 3
#define LOCAL_BATCH 2
#define MAX_VALUES 4096
#define STEPS 2
#define RATE 0.1F

static const struct network_config small = {
    .model = "unet", .base = 4, .depth = 2, .channels = 3,
    .height = 16, .width = 12, .threads = 1, .seed = 7};

/* Sums over all replicas; each computes the sum in the order of the ranks. */
struct meeting {
    pthread_barrier_t barrier;
    double values[REPLICAS][MAX_VALUES];
    float *grads[REPLICAS];
};

struct replica {
    struct meeting *meeting;
    struct network_config config;
    struct network *network;
    int rank, size;
    double loss;
    bool failed;
};

static int sum_replicas(void *arg, double *values, size_t n, struct err *e)
{
    struct replica *r = arg;
    struct meeting *m = r->meeting;

    if (n > MAX_VALUES)
        return err_set(e, ERR_INTERNAL, "%zu values are too many", n);
    memcpy(m->values[r->rank], values, n * sizeof *values);
    pthread_barrier_wait(&m->barrier);
    for (size_t i = 0; i < n; i++) {
        values[i] = 0;
        for (int k = 0; k < r->size; k++)
            values[i] += m->values[k][i];
    }
    pthread_barrier_wait(&m->barrier);
    return 0;
}

/* Copies this replica's images of the global batch. */
static void fill_share(struct replica *r, int batch, int step, float *input, float *target)
{
    size_t npixels = (size_t)batch * (size_t)r->config.height * (size_t)r->config.width;
    size_t first = npixels * (size_t)r->rank, channels = (size_t)r->config.channels;

    for (size_t i = 0; i < npixels * channels; i++)
        input[i] = (float)rng_uniform(1, (uint64_t)step, first * channels + i);
    for (size_t i = 0; i < npixels; i++)
        target[i] = (float)rng_uniform(2, (uint64_t)step, first + i);
}

/* A step of plain gradient descent by the sum of all gradients. */
static void update_weights(struct replica *r)
{
    struct weights *w = network_weights(r->network);

    r->meeting->grads[r->rank] = w->grad;
    pthread_barrier_wait(&r->meeting->barrier);
    for (size_t i = 0; i < w->nparams; i++) {
        float grad = 0;

        for (int k = 0; k < r->size; k++)
            grad += r->meeting->grads[k][i];
        w->value[i] -= RATE * grad;
    }
    pthread_barrier_wait(&r->meeting->barrier);
}

static void *train_replica(void *arg)
{
    struct replica *r = arg;
    int batch = LOCAL_BATCH * REPLICAS / r->size;
    struct network_step total = {.images = REPLICAS * LOCAL_BATCH};
    struct err e;

    total.loss_divisor = total.images * r->config.height * r->config.width;
    for (int step = 0; step < STEPS && !r->failed; step++) {
        float *input = network_input(r->network, true, batch, &e);
        float *target = network_target(r->network, true, batch, &e);

        r->failed = !input || !target;
        if (!r->failed)
            fill_share(r, batch, step, input, target);
        r->failed = r->failed ||
                    network_train(r->network, batch, total, &r->loss, NULL, NULL, &e) < 0;
        if (r->failed)
            printf("# rank %d: %s\n", r->rank, e.text);
        update_weights(r);
    }
    return NULL;
}

/* Trains with `size` replicas; the caller destroys replicas[i].network. */
static void train_replicas(const char *backend, enum batch_norm_mode mode, int size,
                           struct replica *replicas)
{
    struct meeting *meeting = calloc(1, sizeof *meeting);
    pthread_t threads[REPLICAS];
    struct err e;

    if (!meeting || pthread_barrier_init(&meeting->barrier, NULL, (unsigned)size) != 0)
        bail_out("no barrier");
    for (int i = 0; i < size; i++) {
        struct replica *r = &replicas[i];

        *r = (struct replica){.meeting = meeting, .config = small, .rank = i, .size = size};
        r->config.backend = backend;
        r->config.batch_norm = mode;
        r->config.threads = 1 + i % 2; /* replicas may have different numbers of threads */
        r->network = network_create(&r->config, &e);
        if (!r->network)
            bail_out("%s", e.text);
        network_set_sum(r->network, sum_replicas, r);
    }
    for (int i = 0; i < size; i++)
        if (pthread_create(&threads[i], NULL, train_replica, &replicas[i]) != 0)
            bail_out("no thread");
    for (int i = 0; i < size; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&meeting->barrier);
    free(meeting);
}

static double largest_difference(const float *a, const float *b, size_t n)
{
    double largest = 0, scale = 0;

    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
        scale = fmax(scale, fabs((double)b[i]));
    }
    return scale > 0 ? largest / scale : largest;
}

static bool has_gradient(const struct weights *w, const char *name)
{
    const struct weights_entry *entry = weights_find(w, name);

    for (size_t i = 0; i < entry->count; i++)
        if (w->grad[entry->offset + i] != 0)
            return true;
    return false;
}

static void check_replicas(const char *backend, enum batch_norm_mode mode, int size,
                           const char *what)
{
    struct replica one[1], many[REPLICAS];
    const struct weights *w, *v;
    double loss = 0, error;
    bool same = true, failed = false;

    train_replicas(backend, mode, 1, one);
    train_replicas(backend, mode, size, many);
    w = network_weights(one[0].network);
    for (int i = 0; i < size; i++) {
        v = network_weights(many[i].network);
        loss += many[i].loss;
        failed = failed || many[i].failed;
        same = same && memcmp(v->value, network_weights(many[0].network)->value,
                              v->nparams * sizeof(float)) == 0;
    }
    v = network_weights(many[0].network);
    ok(!failed && !one[0].failed, "%s, %s: %d steps", backend, what, STEPS);
    ok(fabs(loss / one[0].loss - 1) < 1e-6, "%s, %s: the losses add up: %.9g of %.9g", backend, what,
       loss, one[0].loss);
    ok(same, "%s, %s: all replicas have the same weights", backend, what);
    error = largest_difference(v->value, w->value, w->nparams);
    ok(error < 1e-5, "%s, %s: they are those of one replica: %.1e", backend, what, error);
    error = largest_difference(v->state, w->state, w->nstate);
    ok(error < 1e-5, "%s, %s: and so are the running statistics: %.1e", backend, what, error);
    ok(has_gradient(v, "head.bias") && has_gradient(v, "up1.bias") &&
           has_gradient(v, "enc1.conv1.bias") == (mode == BATCH_NORM_NONE) &&
           has_gradient(w, "enc1.conv1.bias") == (mode == BATCH_NORM_NONE),
       "%s, %s: biases have gradients unless in front of norms", backend, what);
    for (int i = 0; i < size; i++)
        network_destroy(many[i].network);
    network_destroy(one[0].network);
}

int main(void)
{
    for (size_t i = 0; backends[i] && !backends[i]->device; i++) {
        check_replicas(backends[i]->name, BATCH_NORM_NONE, 3, "no batch norm, 3 replicas");
        check_replicas(backends[i]->name, BATCH_NORM_SYNC, 2, "synchronised batch norm, 2 replicas");
        check_replicas(backends[i]->name, BATCH_NORM_SYNC, 3, "synchronised batch norm, 3 replicas");
    }
    return done_testing();
}
