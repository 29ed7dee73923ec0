/* SPDX-License-Identifier: BSD-3-Clause */
/* One line of the benchmark: the duration of a step, as JSON. The images are in place, so that the
 * copy to the GPU, the step and its update are timed, with two steps in flight.
 *     step BACKEND train|infer BASE HEIGHTxWIDTH BATCH STEPS [f32|tf32|bf16|fp16] */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "src/rng.h"
#include "src/stat.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"
#include "trainer/network/network.h"
#include "trainer/optim/optim.h"
#include "trainer/passes/precision.h"

#define WARMUP 5
#define MOST_STEPS 10000

struct step_run {
    struct network_config config;
    const char *dtype;
    struct network *network;
    struct optim *optim; /* NULL for inference */
    int batch, steps;
    double seconds[MOST_STEPS], loss;
};

static int fill_input(struct step_run *r, struct err *e)
{
    const struct network_config *c = &r->config;
    size_t n = (size_t)r->batch * (size_t)c->height * (size_t)c->width;
    float *input = network_input(r->network, r->optim != NULL, r->batch, e);
    float *target = input ? network_target(r->network, r->optim != NULL, r->batch, e) : NULL;

    for (size_t i = 0; target && i < n; i++) {
        input[i] = (float)rng_uniform(1, 1, i);
        target[i] = (float)(rng_uniform(1, 2, i) < 0.5);
    }
    return target ? 0 : -1;
}

static int queue_step(struct step_run *r, struct err *e)
{
    double pixels = (double)r->batch * r->config.height * r->config.width;
    struct network_step whole = {.images = r->batch, .loss_divisor = pixels};
    const float *logits;

    if (!r->optim)
        return network_infer(r->network, r->batch, &logits, e);
    struct device_update update;
    whole.scaling = r->optim->scaling;
    if (r->optim->device) {
        optim_plan(r->optim, network_weights(r->network), 0.001, 0, &update);
        whole.update = &update;
    }
    if (network_train(r->network, r->batch, whole, &r->loss, NULL, NULL, e))
        return -1;
    if (!whole.update)
        optim_step(r->optim, network_weights(r->network), 0.001, 0);
    return 0;
}

/* A step begins when one of two buffers for images is free, so that in the long run it takes as
 * long as the GPU needs. The result is the total time divided by the number of steps. */
static int measure_steps(struct step_run *r, double *each, struct err *e)
{
    double began = 0;

    for (int i = 0; i < WARMUP + r->steps; i++) {
        if (i < DEVICE_SLOTS && fill_input(r, e))
            return -1;
        if (i == WARMUP && network_wait(r->network, &r->loss, e))
            return -1;
        double now = clock_now();
        if (i == WARMUP)
            began = now;
        if (queue_step(r, e))
            return -1;
        if (i >= WARMUP)
            r->seconds[i - WARMUP] = clock_now() - now;
    }
    if (network_wait(r->network, &r->loss, e))
        return -1;
    *each = (clock_now() - began) / r->steps;
    return 0;
}

static int print_result(struct step_run *r, double each, struct err *e)
{
    static struct cuda_info info;
    double flop, bytes, loss = r->loss / r->batch / r->config.height / r->config.width;

    if (network_count(r->network, r->optim != NULL, r->batch, &flop, &bytes, e))
        return -1;
    cuda_info_read(&info);
    printf("{\"backend\":\"%s\",\"mode\":\"%s\",\"dtype\":\"%s\",\"base\":%d,\"height\":%d,\"width\":%d,\"batch\":%d,"
           "\"step_s\":%.9g,\"step_s_median\":%.9g,\"img_per_s\":%.6g,\"flop\":%.9g,\"bytes\":%.9g,"
           "\"peak_flop\":%.6g,\"peak_bytes\":%.6g,\"loss\":%.9g}\n",
           network_backend(r->network), r->optim ? "train" : "infer", r->dtype, r->config.base,
           r->config.height, r->config.width, r->batch, each,
           stat_median(r->seconds, (size_t)r->steps), r->batch / each, flop, bytes,
           info.ngpus ? info.gpus[0].flop : 0, info.ngpus ? info.gpus[0].bytes : 0,
           r->optim ? loss / (WARMUP + r->steps) : 0);
    return 0;
}

static int run_benchmark(struct step_run *r, bool training, struct err *e)
{
    double each;
    int rc = -1;

    r->network = network_create(&r->config, e);
    if (r->network && training)
        r->optim = optim_create(&(struct optim_config){.scaled = r->config.dtype == DTYPE_F16},
                                network_weights(r->network), e);
    if (r->network && (r->optim || !training) && measure_steps(r, &each, e) == 0)
        rc = print_result(r, each, e);
    network_stop(r->network);
    optim_destroy(r->optim);
    network_destroy(r->network);
    return rc;
}

int main(int argc, char **argv)
{
    static struct step_run r;
    struct network_config *c = &r.config;
    struct err e;

    if (argc == 7 || argc == 8) {
        *c = (struct network_config){.model = "unet", .backend = argv[1], .base = atoi(argv[3]),
                                     .channels = 1, .batch_norm = BATCH_NORM_LOCAL, .threads = 1,
                                     .seed = 1244};
        r.batch = atoi(argv[5]);
        r.steps = atoi(argv[6]);
        r.dtype = argc == 8 ? argv[7] : "f32";
    }
    if (!r.dtype || precision_parse(r.dtype, &c->dtype, &c->tf32, &e) || sscanf(argv[4], "%dx%d", &c->height, &c->width) != 2 || r.batch < 1 ||
        r.steps < 1 || r.steps > MOST_STEPS) {
        fprintf(stderr, "usage: step BACKEND train|infer BASE HEIGHTxWIDTH BATCH STEPS "
                "[f32|tf32|bf16|fp16]\n");
        return 2;
    }
    if (run_benchmark(&r, strcmp(argv[2], "train") == 0, &e)) {
        fprintf(stderr, "step: %s\n", e.text);
        return 1;
    }
    return 0;
}
