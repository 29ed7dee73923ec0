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

#include "src/run/schedule.h"
#include "trainer/comm/comm.h"
#include "trainer/core/network.h"
#include "trainer/data/set/dataset.h"
#include "trainer/data/set/loader.h"
#include "trainer/optim/optim.h"
#include "trainer/run/goal.h"
#include "trainer/run/record.h"
#include "trainer/run/resume.h"
#include "trainer/run/trace.h"
#include "trainer/step/evaluate.h"
#include "trainer/step/exchange.h"
#include "trainer/step/gradient_noise.h"

#define LINKED_STEPS 4 /* more than DEVICE_SLOTS, a power of 2 */

/* Steps of a device, alone or connected to those of the other replicas (network_set_link): the host is
 * up to DEVICE_SLOTS runs ahead of what it knows. Whatever all replicas must decide alike is decided by
 * what a step left DEVICE_SLOTS steps later, when all of them know it. */
struct linked {
    bool steps; /* is a whole step in the device's queue? */
    struct {    /* runs: a step, or one of train.accumulate parts of it */
        size_t n, items, step; /* as train_step has them */
        bool last;             /* of its step */
    } queued[LINKED_STEPS];
    size_t nqueued, ndone;
    float votes[LINKED_STEPS][2]; /* by step */
};

struct session {
    /* Given: */
    const struct settings *config;
    struct dataset *dataset;
    struct comm *comm;
    struct record *record; /* rank 0 only */
    const struct compute *compute;
    int threads;
    const char *host, *out; /* out: folder of the results */
    int device;            /* of a backend that has one: the number on the node */
    double process_start; /* clock_now() then */
    const atomic_int *interrupt; /* to end at once */
    const atomic_int *request;   /* to leave with a checkpoint */
    const char *resume_from; /* folder of the attempt to continue; NULL: none */
    bool again;              /* the run's own folder had an earlier start of it */

    /* Its own, from session_run to session_destroy: */
    struct network_config network_config;
    float class_weights[SETTINGS_CLASSES_MAX];
    struct network *network;
    struct optim *optim;
    struct loader *loader;
    struct evaluation evaluation; /* of the validation images */
    int64_t *score; /* of the epoch's training images so far, which a device counts; NULL */
    bool counted;   /* are they all the epoch's? */
    float *images, *targets, *sum; /* with train.accumulate: of a step; its gradients, maybe a device's */
    float *best_value, *best_state; /* with train.keep best: the best weights so far; rank 0 */
    struct exchange exchange;
    struct schedule schedule;
    struct goal goal;
    struct record_end end;
    struct trace *trace; /* with train.trace */
    double norm_s; /* summing for batch norm in this step */
    struct resume_point at;
    struct gradient_noise noise; /* of the epoch's steps since it was begun or continued */
    struct record_world *worlds; /* rank 0: that the run has had, at last this one */
    size_t nworlds;
    float votes[2]; /* for leaving, for a checkpoint; summed over the replicas in each step */
    struct linked linked; /* with GPUs that are connected */
    double last_checkpoint, first_step_at;
};

/* The whole run, from the first handshake to DONE: 0. 1 on every replica: as *request asked, it has
 * left at a checkpoint. After an error the caller marks the run as failed and calls comm->abort. */
int session_run(struct session *s, struct err *e);

/* Only when all replicas of the process have returned: a collective that failed on one may still
 * be reading the memory of another. */
void session_destroy(struct session *s);

#endif
