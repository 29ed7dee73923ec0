/* SPDX-License-Identifier: BSD-3-Clause */
/* The best number of GPUs for time, for cost, for energy and for a deadline, each chosen
 * separately. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_ADVICE_H
#define UNETCTL_LAUNCHER_ANALYSIS_ADVICE_H

#include <stdbool.h>

#include "launcher/analysis/model.h"
#include "launcher/analysis/series.h"

/* gpus is 0 if no count qualifies; why then has the reason. */
struct advice_choice {
    int gpus;
    bool measured;     /* false: the model predicts it */
    bool extrapolated; /* the count is above twice the largest measured one */
    double value;      /* seconds, GPU-hours, kWh */
    char why[160];
};

struct advice {
    struct advice_choice time, gpu_hours, energy, deadline;
};

/* whole is the chosen model of the whole run, or NULL. deadline_s is 0 for none. */
void advice_compute(struct advice *a, const struct series *s, const struct model *whole,
                    double deadline_s);

#endif
