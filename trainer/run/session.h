/* SPDX-License-Identifier: BSD-3-Clause */
/* The training of one replica: it computes its share of every step, sums gradients with the other
 * replicas, and evaluates its share of the validation images.
 *
 * The same global batch gives the same gradient, up to rounding, for every number of replicas: the
 * loss is divided by the pixels of the whole step (or by their class weights, Dice by the images),
 * and gradients are summed. Batch norm "local" uses the statistics of a replica's own batch, so
 * results depend on the number; with "sync" and "none" they do not. The running statistics of rank
 * 0 are used for evaluation and written to checkpoints. */
#ifndef UNETCTL_TRAINER_RUN_SESSION_H
#define UNETCTL_TRAINER_RUN_SESSION_H

#include <stdatomic.h>

#include "trainer/comm/comm.h"
#include "trainer/data/set/dataset.h"
#include "trainer/run/compute.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_config.h"
#include "trainer/run/run_log.h"

/* All pointers must outlive the session. */
struct session_config {
    const struct settings *config;
    struct dataset *dataset;
    struct comm *comm;
    struct run_log *log; /* rank 0 only */
    const struct compute *compute;
    int threads;
    const char *host, *out; /* out: folder of the results */
    int device;             /* index of the replica's device on the node, if the backend has any */
    double process_start;   /* time of clock_now() */
    const atomic_int *interrupt; /* not 0: the signal that ends the run at once */
    const atomic_int *request;   /* not 0: the run should end with a checkpoint */
    struct resume_source resume;
};

struct session;

struct session *session_create(const struct session_config *config, struct err *e);

/* Trains and evaluates until the marker DONE is written. Returns 0; 1 on every replica if *request
 * made them leave with a checkpoint; -1 on error, after which the caller marks the run as failed
 * and calls comm->abort. */
int session_run(struct session *s, struct err *e);

/* Called when session_run has returned for all replicas of the process, as a failed collective of
 * one may still read the memory of another. NULL is fine. */
void session_destroy(struct session *s);

/* Takes the place of session_destroy after an error with a communicator that has queue_sum, before
 * its abort: frees nothing that the device or a thread may still use. The process ends by _exit. */
void session_abandon(struct session *s);

#endif
