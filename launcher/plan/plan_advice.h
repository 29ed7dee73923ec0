/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings about a plan, before it costs anything. */
#ifndef UNETCTL_LAUNCHER_PLAN_PLAN_ADVICE_H
#define UNETCTL_LAUNCHER_PLAN_PLAN_ADVICE_H

#include "launcher/plan/compute_look.h"
#include "launcher/plan/model_look.h"
#include "launcher/study/workspace.h"

#define PLAN_ADVICE_MAX 12
#define PLAN_ADVICE_SIZE 1536

struct plan_advice {
    long train, val;  /* numbers of images; both 0 if the data are unknown */
    /* taken from split.json; otherwise estimated from the files and data.val_fraction */
    bool exact;
    struct compute_look compute;
    struct model_look model; /* all zeros if unet-train cannot build the model */
    char text[PLAN_ADVICE_MAX][PLAN_ADVICE_SIZE];
    size_t count;
};

/* Collects the warnings. Never fails: that the data or the device cannot be inspected becomes a
 * warning, and a model that cannot be built has zeros. */
void plan_advice_collect(const struct plan *plan, struct plan_advice *dst);

/* Returns whether Slurm would send a run its signal to stop, slurm.signal_s before the time limit,
 * at once, because the limit is not longer than that. Then dst has a sentence about it. Never true
 * without a limit, or for an engine that does not resume. */
bool plan_advice_time(const struct plan *p, char dst[256]);

#endif
