/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings about a plan before it runs. */
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

/* Never fails: what cannot be inspected is reported as advice. */
void plan_advice_collect(const struct workspace *w, const struct run_plan *plan,
                         struct plan_advice *dst);

/* Returns true, with a sentence in dst, where the time limit leaves no time before
 * slurm.signal_s. */
bool plan_advice_time(const struct workspace *w, char dst[256]);

#endif
