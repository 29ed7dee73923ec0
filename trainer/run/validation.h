/* SPDX-License-Identifier: BSD-3-Clause */
/* Validations of a training, and what follows from their scores. All functions but open and close
 * are collective: each image is scored on one rank. */
#ifndef UNETCTL_TRAINER_RUN_VALIDATION_H
#define UNETCTL_TRAINER_RUN_VALIDATION_H

#include <stdatomic.h>
#include <stdbool.h>

#include "src/err.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/network/network.h"
#include "trainer/run/goal.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_log.h"

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

#endif
