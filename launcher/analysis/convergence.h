/* SPDX-License-Identifier: BSD-3-Clause */
/* Time to accuracy = epochs to the target x seconds per epoch. The two factors separate what a
 * larger batch costs (more epochs) from what the hardware gains (fewer seconds). A count, N, is a
 * number of GPUs that runs were measured on; base is the smallest. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_CONVERGENCE_H
#define UNETCTL_LAUNCHER_ANALYSIS_CONVERGENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/series.h"

enum convergence_metric { CONVERGENCE_NONE, CONVERGENCE_SCORE, CONVERGENCE_LOSS };

struct convergence_point {
    int gpus;
    /* nruns: runs with a curve, or 0 if a curve that reaches the target has no times; nreached:
     * runs with a curve that reach the target */
    size_t nruns, nreached;
    double epochs;           /* median over runs; NaN unless more than half reach the target */
    double epoch_s;          /* seconds per epoch until the target: seconds / epochs */
    double seconds;          /* median time to target */
    double energy_kwh;       /* median energy to target, measured; NaN: of some run unknown */
    double least_s, most_s;  /* of the runs; most_s is INFINITY if one never reaches it */
    double epochs_ratio;     /* epochs(N) / epochs(base); above 1, more epochs are needed */
    double epoch_s_ratio;    /* epoch_s(base) / epoch_s(N); above 1, epochs are faster */
    double speedup;          /* seconds(base) / seconds(N) */
    /* The smallest and the largest ratio of a run of base to one of N. NaN unless both have two
     * runs or more, which all reach the target. It is not an interval of known level: the target is
     * chosen from these runs, and times until it are whole epochs. */
    double speedup_least, speedup_most;
};

struct convergence {
    /* SCORE: of the validation after each epoch; LOSS: of the training */
    enum convergence_metric metric;
    double target;
    bool scored;  /* every whole run has a validation score of some epoch */
    /* The user chose the target; otherwise it is the best value of the worst count's median run. */
    bool chosen;
    struct convergence_point *points; /* one per point of the series; none without a metric */
    size_t npoints;
};

/* Computes the convergence of a series. A target that is NaN is not the user's. The metric is the
 * score if all runs have scores and loss_target is NaN; otherwise it is the loss, and score_target
 * is ignored. If there is no target, as there are no curves and the user chose none, the metric is
 * CONVERGENCE_NONE, and there are no points. Returns 0, or -1 if memory ran out. */
int convergence_compute(struct convergence *c, const struct series *s, double score_target,
                        double loss_target, struct err *e);
void convergence_destroy(struct convergence *c);

#endif
