/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a training at limit.steps or limit.minutes, and its speed until then, in intervals of
 * steps. An interval ends after a second or a 20th of the limit, whichever is first, and between
 * epochs no time passes. Each rank counts steps; rank 0, which has the log, measures time. */
#ifndef UNETCTL_TRAINER_RUN_LIMIT_H
#define UNETCTL_TRAINER_RUN_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "src/settings/settings.h"
#include "trainer/run/run_log.h"

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

#endif
