/* SPDX-License-Identifier: BSD-3-Clause */
/* Time to accuracy = epochs to the target x seconds per epoch: what the larger batch costs (epochs)
 * and what the hardware gives (seconds), apart. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_CONVERGENCE_H
#define UNETCTL_LAUNCHER_ANALYSIS_CONVERGENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/series.h"

enum convergence_metric { CONVERGENCE_NONE, CONVERGENCE_SCORE, CONVERGENCE_LOSS };

struct convergence_point {
    int gpus;
    size_t nruns, nreached;  /* runs with a curve; of them, at the target */
    double epochs;           /* median over runs that know; NaN unless more than half reached it */
    double epoch_s;          /* mean seconds per epoch on the way */
    double seconds;          /* median time to target */
    double epochs_ratio;     /* epochs(N) / epochs(base): above 1, statistics lose */
    double epoch_s_ratio;    /* epoch_s(base) / epoch_s(N): above 1, hardware gains */
    double speedup;          /* seconds(base) / seconds(N) */
};

struct convergence {
    enum convergence_metric metric; /* SCORE: of the validation, per epoch; LOSS: training */
    double target;
    bool scored;  /* every run has a quality of its validation per epoch */
    bool chosen;  /* by the user; otherwise: the best of the worst count's median run */
    struct convergence_point *points; /* one per point of the series */
    size_t npoints;
};

/* target NaN: choose. */
int convergence_compute(struct convergence *c, const struct series *s, double score_target,
                        double loss_target, struct err *e);
void convergence_destroy(struct convergence *c);

#endif
