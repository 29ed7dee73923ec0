/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of steps on synthetic images, with gradients summed over the replicas, reported as
 * Horovod's benchmark does. */
#ifndef UNETCTL_TRAINER_CMD_BENCH_ROUNDS_H
#define UNETCTL_TRAINER_CMD_BENCH_ROUNDS_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/comm/comm.h"
#include "trainer/network/network.h"
#include "trainer/optim/optim.h"

struct bench_rounds {
    struct network_config network; /* threads: of each replica */
    int gpus;                      /* number of replicas: forked processes, or MPI ranks */
    int batch, warmup, rounds, steps; /* steps: of each round */
    bool json;
};

/* Runs the benchmark; rank 0 prints the result. Under an MPI launcher gpus must be the number of
 * its tasks. */
int bench_rounds_run(const struct bench_rounds *b, struct err *e);

/* A replica for training steps. comm: NULL for a single replica. */
struct bench_replica {
    struct comm *comm;
    struct network *network;
    struct optim *optim;
    size_t started; /* the sums of the gradients before this offset have been started */
};
int bench_rounds_step(struct bench_replica *r, int batch, struct err *e);

/* Writes synthetic images and targets to the network's input for the next step, of training or of
 * inference. */
int bench_rounds_fill(struct network *n, const struct network_config *c, bool training, int batch,
                      struct err *e);

#endif
