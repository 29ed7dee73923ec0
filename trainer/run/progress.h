/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a run on stderr: on a terminal one line that is redrawn, with the time left;
 * elsewhere one line per epoch. */
#ifndef UNETCTL_TRAINER_RUN_PROGRESS_H
#define UNETCTL_TRAINER_RUN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct progress {
    FILE *out;
    bool terminal;
    int epochs;
    double began, last_drawn; /* times of clock_now() */
    double skipped;           /* see progress_skip */
    double loss;              /* of the last epoch */
};

void progress_open(struct progress *p, FILE *out, int epochs);

/* Excludes the share of the run, 0..1, that an earlier start has completed from the estimate of the
 * time left. */
void progress_skip(struct progress *p, double done);

/* Called after each step and after each epoch. epoch: counted from 0; step: completed steps of the
 * epoch. */
void progress_step(struct progress *p, int epoch, size_t step, size_t steps);
void progress_epoch(struct progress *p, int epoch, double loss, double seconds,
                    double images_per_s);
void progress_close(struct progress *p); /* removes the redrawn line */

#endif
