/* SPDX-License-Identifier: BSD-3-Clause */
/* Which count is best for what, what is worth measuring next. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_ADVICE_H
#define UNETCTL_LAUNCHER_ANALYSIS_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/model.h"
#include "launcher/analysis/series.h"

/* gpus 0: no count does it, why says so. */
struct advice_choice {
    int gpus;
    bool measured;     /* false: what the model says */
    bool extrapolated; /* beyond twice the largest measured count */
    double value;      /* seconds, GPU-hours, kWh */
    char why[160];
};

struct advice {
    struct advice_choice time, gpu_hours, energy, deadline;
    int knee; /* measured count with the most S(N) E(N): beyond it GPU-hours rise by a larger
                         * share than time falls. 0: not known */
    bool knee_is_last;  /* it is the largest measured: where the knee lies is not known */
    double model_knee;  /* the same by the model of the steady epoch; NaN: none, or beyond 2x */
    int next;           /* count worth measuring next; 0: none */
    char next_why[160];
};

/* whole, steady: chosen models, or NULL. deadline_s: 0 for none. */
void advice_compute(struct advice *a, const struct series *s, const struct model *whole,
                    const struct model *steady, double deadline_s);

#endif
