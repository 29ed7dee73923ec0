/* SPDX-License-Identifier: BSD-3-Clause */
/* The training of one replica: it computes its share of every step, sums gradients with the other
 * replicas, and evaluates its share of the validation images.
 *
 * The same global batch gives the same gradient for every number of replicas: the loss is divided
 * by the pixels of the whole step, and gradients are summed. Batch norm "local" uses the statistics
 * of a replica's own batch, so results depend on the number; with "sync" and "none" they do not.
 * The running statistics of rank 0 are used for evaluation and written to checkpoints. */
#ifndef UNETCTL_TRAINER_RUN_SESSION_H
#define UNETCTL_TRAINER_RUN_SESSION_H

#include <stdatomic.h>

#include "trainer/comm/comm.h"
#include "trainer/data/set/dataset.h"
#include "trainer/run/compute.h"
#include "trainer/run/record.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_config.h"

/* All pointers must outlive the session. */
struct session_config {
    const struct settings *config;
    struct dataset *dataset;
    struct comm *comm;
    struct record *record; /* rank 0 only */
    const struct compute *compute;
    int threads;
    const char *host, *out; /* out: folder of the results */
    int device;             /* of a backend with devices: the index on the node */
    double process_start;   /* clock_now() */
    const atomic_int *interrupt; /* asks to end at once */
    const atomic_int *request;   /* asks to leave with a checkpoint */
    struct resume_source resume;
};

struct session;

struct session *session_create(const struct session_config *config, struct err *e);

/* Runs from the first handshake to DONE: 0. 1 on every replica when *request made them leave at a
 * checkpoint. After an error the caller marks the run as failed and calls comm->abort. */
int session_run(struct session *s, struct err *e);

/* When all replicas of the process have returned, as a failed collective of one may still read the
 * memory of another. NULL is fine. */
void session_destroy(struct session *s);

#endif
