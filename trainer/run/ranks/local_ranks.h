/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a run on one node, as processes that this one forks: each GPU has a process of its
 * own, without a launcher. The parent computes nothing. It forwards SIGINT, SIGTERM and SIGUSR1,
 * prints one error, ends with its ranks, and they end with it. A rank that has not ended some time
 * after another has failed, or after a second SIGINT or SIGTERM, is killed. */
#ifndef UNETCTL_TRAINER_RUN_RANKS_LOCAL_RANKS_H
#define UNETCTL_TRAINER_RUN_RANKS_LOCAL_RANKS_H

#include <stdbool.h>

#include "src/err.h"
#include "src/run/token.h"
#include "trainer/comm/comm_open.h"

/* A second SIGTERM so many seconds after the first ends a run without a checkpoint, with this
 * error. */
#define LOCAL_RANKS_TWICE_S 2.0
#define LOCAL_RANKS_TWICE_TEXT "stopped by a second SIGTERM before a checkpoint was written; the " \
    "same command continues from an earlier one"

/* What the ranks need to meet (rendezvous.h). */
struct local_ranks {
    int rank, size;
    int listener, port; /* of rank 0: a socket that listens at this port of 127.0.0.1 */
    unsigned char token[TOKEN_SIZE];
    struct node_offer node; /* memory of all ranks, which rank 0 joins as well */
};

/* Runs one rank in this process. Returns 0, or -1 with *e; *relayed: another rank reports it. */
typedef int (*local_rank_f)(void *arg, const struct local_ranks *ranks, bool *relayed,
                            struct err *e);

/* Forks `size` ranks. Returns 0, or -1 with the error of the first rank (by number) that failed by
 * itself, and the exit code of the one that failed first. In a rank it returns the exit code of the
 * process, which must end without a message then. Called before any thread is started, and before
 * a device is used. grace_s: for the other ranks to end after one has failed. */
int local_ranks_run(int size, double grace_s, local_rank_f body, void *arg, struct err *e);

/* Returns the rank of this process among those that were forked, or -1. */
int local_ranks_index(void);

#endif
