/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a training that only this room uses. */
#pragma once

#include "trainer/evaluate/evaluate.h"
#include "trainer/run/session.h"

/* What earlier starts of a run have left in its folder. */

/* The software and the processor that a run uses, for its record (doc/SCHEMAS.md, "versions"). */

/* Adds to the object "versions": compiler, MPI, kernel, processor, Slurm and, if c computes on a
 * GPU, CUDA, driver, cuDNN and NCCL. What is unknown is null. */
void software_encode(const struct compute *c, cJSON *to);

/* The end of a training at limit.steps or limit.minutes, and its speed until then, in intervals of
 * steps. An interval ends after a second or a 20th of the limit, whichever is first, and between
 * epochs no time passes. Each rank counts steps; rank 0, which has the log, measures time. */

struct limit {
    int64_t steps;  /* limit.steps; 0: none */
    double seconds; /* limit.minutes; 0: none */
    bool reached;   /* the training ends; every rank sets this after the same step */
    int64_t done;   /* steps of the run */
    /* The interval that was not written yet. */
    int64_t before;       /* steps of the run before it */
    double seconds_before;
    size_t images;
    double began, paused; /* times of clock_now() */
};

/* Sets *l for a run that has taken `done` steps in `seconds`. -1 with ERR_CHECKPOINT if that is
 * more than limit.steps. */
int limit_open(struct limit *l, const struct settings *c, int64_t done, double seconds,
               struct err *e);

bool limit_is_set(const struct limit *l);

/* Returns whether the time of limit.minutes is over. */
bool limit_is_over(const struct limit *l);

/* Called before the first step of an epoch, after each step with the images of all ranks, and when
 * all steps of the epoch are complete. log: NULL except on rank 0. */
void limit_continue(struct limit *l);
int limit_count(struct limit *l, size_t images, struct run_log *log, struct err *e);
int limit_pause(struct limit *l, struct run_log *log, struct err *e);

/* Progress of a run on stderr: on a terminal one line that is redrawn, with the time left;
 * elsewhere one line per epoch. */

struct progress {
    FILE *out;
    bool terminal;
    int epochs;
    double began, last_drawn; /* times of clock_now() */
    double skipped;           /* see progress_skip */
    double loss;              /* of the last epoch */
};

/* Validations of a training, and what follows from their scores. All functions but open and close
 * are collective: each image is scored on one rank. */

/* All pointers must outlive it. */
struct validation {
    struct training *t;
    const struct network_config *network;
    const struct goal *goal;
    const atomic_int *interrupt, *request; /* as in struct session_config */
    struct run_log_end *end;               /* receives scores and test_time */
    struct evaluation images, own; /* at the network's size, and at the images' own sizes */
};

/* Prepares the images; the members before them are set. losses: each validation is also recorded,
 * with its loss. */
int validation_open(struct validation *v, bool losses, struct err *e);
void validation_close(struct validation *v); /* a zeroed one is allowed */

/* Scores the images, updates the goal, keeps the best weights, and records the validation.
 * repeated: an earlier process has validated these weights. Returns 1 if all replicas leave. */
int validation_run(struct validation *v, bool repeated, struct err *e);

/* Makes the best weights and their scores the result. Returns 1 if all replicas leave. */
int validation_restore_best(struct validation *v, struct err *e);

/* Scores the masks at their own sizes, as predict writes them. If an image cannot be read, there is
 * no such score: a training from the cache does not need its images. */
int validation_score_own(struct validation *v, struct err *e);

/* The results that rank 0 writes beside the record: scores of the validation images, and
 * weights. */

/* Writes images.csv, examples/ and checkpoint/, logs warnings, and sets weights_sha256 and warning
 * of *end. v has the score of each validation image; its network is that of t. */
int results_write(const struct training *t, struct evaluation *v, struct run_log_end *end,
                  struct err *e);

/* Called on every rank after a training has failed with *e. Where the best weights so far are kept
 * (rank 0, train.keep: best, after a validation), writes them to the folder best/ and adds its name
 * to *e; a failure to write is only logged. */
void results_rescue(const struct training *t, const struct network_config *network,
                    const struct goal *goal, struct err *e);
