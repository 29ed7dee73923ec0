/* SPDX-License-Identifier: BSD-3-Clause */
/* One run: from run.json to the marker DONE or FAILED.
 *
 * cmd/cmd_train.c drives it, one process per GPU: it reads the settings (setup.h), decides the rank
 * of the process (ranks/), opens the data and the log (run_log.h), joins the other ranks
 * (membership), and runs a session, which trains epochs by step/ and validates by evaluate/. Other
 * verbs only choose a backend and catch signals (setup.h). The state between two steps is a struct
 * training; a checkpoint is that state on disk.
 *
 * What it promises: the marker DONE appears after all results, FAILED with the reason, and neither
 * when the run can be resumed; every rank ends when one fails; a run that is resumed with the same
 * replicas gives the same bits; a folder that a later start of the job owns is not written to.
 *
 * To read: this file, then cmd_train.c, session.c, validation.c (what ends a training), resume.c,
 * run_log.c and membership.c; ranks/ranks.h for how a process finds its rank. */
#pragma once

#include "trainer/json/cjson.h"
#include "trainer/run/ranks/ranks.h"
#include "trainer/run/run_log.h"

/* How this rank gets from its role (run/ranks/ranks.h) to a communicator: it opens its device,
 * meets the other ranks, keeps a lifeline to them, and connects. */

struct membership {
    struct rank_identity identity;
    struct device_comm device; /* of a rank whose GPU NCCL connects to others */
    struct lifeline *lifeline; /* after a rendezvous, else NULL */
    /* Called by the lifeline's thread when a rank is lost. */
    lifeline_lost_f lost;
    void *arg;
    struct err error; /* why this rank cannot compute; reported to all ranks after they have met */
};

/* Opens the device, if NCCL connects it to others, or sets k->error. */
void membership_prepare(struct membership *k, const struct settings *c);

/* Meets the other ranks and opens the lifeline. folder: of the results. *relayed is set if rank 0
 * reports the error. */
int membership_meet(struct membership *k, const struct settings *c, const char *folder,
                    bool *relayed, struct err *e);

/* Returns the communicator, which the caller closes before membership_close, or NULL with *e. */
struct comm *membership_connect(const struct membership *k, const struct settings *c,
                                struct err *e);

void membership_close(struct membership *k); /* a zeroed one is allowed */

/* The state of a training between two steps, and its checkpoints.
 *
 * A checkpoint has this state, the weights (with train.keep: best also the best ones), rank 0's
 * running statistics of batch norm, the optimizer's state and the epochs so far; all else is a
 * function of these and the seed (rng.h, data/set/loader.h, schedule.h). With the same number of
 * replicas and the same batch a resumed training gives the result of an uninterrupted one to the
 * last bit (on GPUs surely only with train.deterministic). With another number of replicas and the
 * same train.global_batch the steps are the same, but divided differently. With another batch the
 * rest of the epoch is divided into steps again. */

/* A plan is the division of the images of an epoch, or of its rest, into steps. */
struct resume_point {
    int epoch;           /* completed epochs; "the epoch" below is the next one */
    size_t begin;        /* its images that were used before its current plan was made */
    size_t step;         /* completed steps of that plan */
    size_t steps_before; /* completed steps of the epoch in earlier plans */
    double seconds;      /* spent in the epoch so far */
    struct step_totals totals; /* of the epoch so far */
    bool due;            /* a validation comes before the next step */
    struct goal_state goal;
};

/* A training: the objects whose state checkpoints contain. */
struct training {
    const struct settings *config;
    struct dataset *dataset;
    struct comm *comm;
    struct run_log *log; /* rank 0 only */
    struct network *network;
    struct optim *optim;
    float *best_value, *best_state; /* rank 0 with train.keep: best: the best weights; else NULL */
    struct resume_point at;
    struct run_log_world *worlds; /* rank 0: all so far, the last is the current one; owned */
    size_t nworlds;
    cJSON *init; /* rank 0: the weights of a file with which it began (checkpoint_fit), or NULL */
};

/* Writes a checkpoint to the run's folder; collective. items: images of the epoch used so far. If
 * it cannot be written, rank 0 logs a warning and returns 0, or with `must` -1 with ERR_INTERNAL.
 * -1 with ERR_RESUMABLE if this process must not write in the folder any more. */
int resume_write(struct training *t, size_t items, bool must, struct err *e);

struct resume_source {
    const char *attempt; /* folder of another run to continue, or NULL */
    bool again;          /* the run's own folder has an earlier start */
};

/* Sets t->at from the newest intact checkpoint in the run's own folder, or else in that of the
 * source, or to the beginning, with the weights of model.init. Collective, called after the
 * record's first line. Afterwards rank 0 has the weights, the record has the epochs so far, and all
 * ranks have the optimizer's state. -1 with ERR_CHECKPOINT if the checkpoint has another network,
 * plan or data, other settings that may not change, or more epochs than the run, if the source has
 * no checkpoint, or if model.init does not fit. */
int resume_read(struct training *t, const struct resume_source *source, struct err *e);

/* Broadcasts the weights of rank 0. */
int resume_share_weights(const struct training *t, struct err *e);

/* The training of one replica: it computes its share of every step, sums gradients with the other
 * replicas, and evaluates its share of the validation images.
 *
 * The same global batch gives the same gradient, up to rounding, for every number of replicas: the
 * loss is divided by the pixels of the whole step (or by their class weights, Dice by the images),
 * and gradients are summed. Batch norm "local" uses the statistics of a replica's own batch, so
 * results depend on the number; with "sync" and "none" they do not. The running statistics of rank
 * 0 are used for evaluation and written to checkpoints. */

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

/* Measures what connects the ranks of a run (unet-train train --bandwidth): sums over all of them
 * and exchanges between two, of 1 KiB to 128 MiB, with training's communicator and memory. */

/* Called by every rank; gpu is zeroed unless NCCL connects GPUs. Rank 0 writes the times to
 * dir/bandwidth.json (doc/SCHEMAS.md). Two ranks exchange while the others are idle: ranks r and
 * r + 1, then r and r + 2, and so on. For each size the sums and the exchanges may take 4 s each,
 * so the whole takes less than 50 s: what is expected to take longer is left out, which the file
 * says. ERR_USAGE for a single rank. */
int bandwidth_measure(struct comm *c, const struct device_comm *gpu, const char *dir,
                      struct err *e);
