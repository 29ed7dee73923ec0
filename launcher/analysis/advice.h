/* SPDX-License-Identifier: BSD-3-Clause */
/* The best number of GPUs for time, for GPU-hours, for energy and for a deadline, each chosen
 * separately. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_ADVICE_H
#define UNETCTL_LAUNCHER_ANALYSIS_ADVICE_H

#include <stdbool.h>

#include "launcher/analysis/model/model.h"
#include "launcher/analysis/series.h"

/* A chosen number of GPUs (a count). gpus is 0 if none qualifies. why has the reason for the choice
 * or for its absence. */
struct advice_choice {
    int gpus;
    bool measured;     /* false: the model predicts it, or gpus is 0 */
    bool extrapolated; /* the count is above twice the largest one that the model was fitted to */
    double value;      /* seconds, GPU-hours or kWh of a whole run; NaN if gpus is 0 */
    char why[160];
};

struct advice {
    struct advice_choice time, gpu_hours, energy, deadline;
    enum quantity energy_by; /* QUANTITY_ENERGY, or where no run has that QUANTITY_NODE_ENERGY */
    bool energy_estimated; /* by series_facts.watts_per_gpu, not measured */
    /* The interval of its ratio to each other count of known energy is below 1. */
    bool energy_separated;
};

/* whole is the model of the whole run; it is ignored unless model_is_usable. A deadline is met
 * where the upper end of its interval meets it. deadline_s is 0 for none. */
void advice_compute(struct advice *a, const struct series *s, const struct model *whole,
                    double deadline_s);

#endif
