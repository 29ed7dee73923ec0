/* SPDX-License-Identifier: BSD-3-Clause */
/* Which count is best for time, cost and a deadline, each taken alone. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_ADVICE_H
#define UNETCTL_LAUNCHER_ANALYSIS_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/model.h"
#include "launcher/analysis/series.h"

/* gpus 0: no count qualifies; why has the reason. */
struct advice_choice {
    int gpus;
    bool measured;     /* false: predicted by the model */
    bool extrapolated; /* beyond twice the largest measured count */
    double value;      /* seconds, GPU-hours, kWh */
    char why[160];
};

struct advice {
    struct advice_choice time, gpu_hours, energy, deadline;
};

/* whole: the chosen model of the whole run, or NULL. deadline_s: 0 for none. */
void advice_compute(struct advice *a, const struct series *s, const struct model *whole,
                    double deadline_s);

#endif
