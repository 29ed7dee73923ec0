/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark as Horovod's prints it: rounds of steps on synthetic images, on every replica, with
 * gradients summed. */
#ifndef UNETCTL_TRAINER_CMD_BENCH_ROUNDS_H
#define UNETCTL_TRAINER_CMD_BENCH_ROUNDS_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/core/network.h"

struct bench_rounds {
    struct network_config network; /* threads: of each replica */
    int gpus;                      /* replicas: threads of this process, or its MPI ranks */
    int batch, warmup, rounds, steps; /* steps of each round */
    bool json;
};

/* Runs it and prints, on rank 0. Under an MPI launcher gpus must be the number of its tasks. */
int bench_rounds_run(const struct bench_rounds *b, struct err *e);

/* Synthetic images and targets, in the network's place for the next step. */
int bench_rounds_fill(struct network *n, const struct network_config *c, bool training, int batch,
                      struct err *e);

#endif
