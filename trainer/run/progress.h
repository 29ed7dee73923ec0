/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run shows while it goes on: on a terminal one line that is redrawn, with the time left;
 * elsewhere one plain line per epoch. On stderr. */
#ifndef UNETCTL_TRAINER_RUN_PROGRESS_H
#define UNETCTL_TRAINER_RUN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct progress {
    FILE *out;
    bool terminal;
    int epochs;
    double began, last_drawn, skipped;
    double loss; /* of the last epoch */
};

/* out: a terminal or not, it finds out. */
void progress_open(struct progress *p, FILE *out, int epochs);

/* The run begins with this share of it done. */
void progress_skip(struct progress *p, double done);

/* step of steps in the epoch is done. */
void progress_step(struct progress *p, int epoch, size_t step, size_t steps);
void progress_epoch(struct progress *p, int epoch, double loss, double seconds,
                    double images_per_s);
void progress_close(struct progress *p); /* removes the redrawn line */

#endif
