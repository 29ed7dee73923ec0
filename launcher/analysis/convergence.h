/* SPDX-License-Identifier: BSD-3-Clause */
/* Time to accuracy = epochs to the target x seconds per epoch. The two factors separate what a
 * larger batch costs (more epochs) from what the hardware gains (fewer seconds). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_CONVERGENCE_H
#define UNETCTL_LAUNCHER_ANALYSIS_CONVERGENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/series.h"

enum convergence_metric { CONVERGENCE_NONE, CONVERGENCE_SCORE, CONVERGENCE_LOSS };

struct convergence_point {
    int gpus;
    size_t nruns, nreached;  /* runs with a curve; those of them that reach the target */
    double epochs;           /* median over runs; NaN unless more than half reach the target */
    double epoch_s;          /* mean seconds per epoch until the target */
    double seconds;          /* median time to target */
    double epochs_ratio;     /* epochs(N) / epochs(base); above 1, more epochs are needed */
    double epoch_s_ratio;    /* epoch_s(base) / epoch_s(N); above 1, epochs are faster */
    double speedup;          /* seconds(base) / seconds(N) */
};

struct convergence {
    /* SCORE: of the validation after each epoch; LOSS: of the training */
    enum convergence_metric metric;
    double target;
    bool scored;  /* every run has validation scores of its epochs */
    bool chosen;  /* by the user; otherwise it is the best value of the worst count's median run */
    struct convergence_point *points; /* one per point of the series */
    size_t npoints;
};

/* Computes the convergence of a series. A target of NaN is chosen. Returns 0, or -1 if memory
 * ran out. */
int convergence_compute(struct convergence *c, const struct series *s, double score_target,
                        double loss_target, struct err *e);
void convergence_destroy(struct convergence *c);

#endif
