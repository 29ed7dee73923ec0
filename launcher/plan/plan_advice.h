/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be known of a plan before it runs, and may not be meant. */
#ifndef UNETCTL_LAUNCHER_PLAN_PLAN_ADVICE_H
#define UNETCTL_LAUNCHER_PLAN_PLAN_ADVICE_H

#include "launcher/plan/compute_look.h"
#include "launcher/plan/model_look.h"
#include "launcher/study/workspace.h"

#define PLAN_ADVICE_MAX 12

struct plan_advice {
    long train, val;  /* images of each side; 0: nothing is known of the data */
    bool exact;       /* from split.json; otherwise from the files and data.val_fraction */
    struct compute_look compute;
    struct model_look model; /* zeros: unet-train cannot build it */
    char text[PLAN_ADVICE_MAX][1536];
    size_t count;
};

/* Never fails: what cannot be looked at is advice, too. */
void plan_advice_collect(const struct workspace *w, const struct run_plan *plan,
                         struct plan_advice *dst);

/* Does the time limit leave no time before slurm.signal_s? Then dst has a sentence that says so. */
bool plan_advice_time(const struct workspace *w, char dst[256]);

#endif
