/* SPDX-License-Identifier: BSD-3-Clause */
/* One replica's part in a run: it trains its share of every step, sums gradients with the other
 * replicas, evaluates its share of the validation images.
 *
 * The same global batch gives the same gradient for every number of replicas: each divides its
 * pixels' loss by the pixels of the whole step, and gradients are summed. Batch norm "local"
 * normalises with a replica's own batch, so there results depend on the number; "sync" and "none"
 * do not. The running statistics of rank 0 are the ones that count: they go to every rank before
 * evaluation, and into the checkpoint. */
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
    int device;             /* of a backend that has one: the number on the node */
    double process_start;   /* clock_now() then */
    const atomic_int *interrupt; /* to end at once */
    const atomic_int *request;   /* to leave with a checkpoint */
    struct resume_source resume;
};

struct session;

struct session *session_create(const struct session_config *config, struct err *e);

/* The whole run, from the first handshake to DONE: 0. 1 on every replica: as *request asked, it has
 * left at a checkpoint. After an error the caller marks the run as failed and calls comm->abort. */
int session_run(struct session *s, struct err *e);

/* Only when all replicas of the process have returned: a collective that failed on one may still
 * be reading the memory of another. NULL is fine. */
void session_destroy(struct session *s);

#endif
