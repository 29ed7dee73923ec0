/* SPDX-License-Identifier: BSD-3-Clause */
/* Upper bounds of what a run costs in GPU-hours and bytes on disk, before anything is spent. */
#pragma once

#include "src/base.h"

#include "launcher/plan/look.h"
#include "launcher/study/plan.h"
#include "launcher/study/workspace.h"
#include "src/cli.h"

#define RUN_COST_OPTION(max) \
    {"max-gpu-hours", 0, CLI_DOUBLE, "H", \
     "refuse (exit 3) what may cost more: time limit x GPUs, summed", &(max), 1e-9, 1e12}

/* Returns GPUs x time limit in hours, or 0 without a limit. Of a job that has its nodes exclusively
 * all GPUs of the nodes count. */
double run_cost_gpu_hours(const struct plan *plan, const struct run *run);

/* Returns the decimals for printing GPU-hours: 1, or 3 below 0.1. */
int run_cost_decimals(double hours);

/* Returns an upper bound of the bytes that one attempt (submission) of unet-train writes, in whole
 * blocks of the file system: weights, snapshots to resume from (two are kept while a third is
 * written), record.jsonl (until the time limit, or for a day without one), log.csv, scripts and
 * output. */
int64_t run_cost_disk(const struct study *study, const struct model_look *model, int time_min);

/* Returns an upper bound of the bytes of the file of decoded images that all runs share
 * (data.cache) and have so many pixels, or 0 if they are kept in memory, as with `off`, and with
 * `auto` up to 256 MiB for all processes of a node. */
int64_t run_cost_cache(const struct study *study, const struct plan *plan, int64_t pixels);

/* Returns the bytes that data.stage needs on each node: of the files that split.json names or, as
 * long as there is none, of all in the data folder; 0 without data.stage. */
int64_t run_cost_stage(const struct study *study);

/* Checks that `what`, which takes so many GPU-hours by its time limit in minutes (0: none), costs
 * at most max_gpu_hours. fit is said before a time limit that would do. Returns 0, or -1 with
 * ERR_CONFIG. */
int run_cost_limit(const char *what, double hours, int time_min, double max_gpu_hours,
                   const char *fit, struct err *e);

/* Checks that the plan costs at most max_gpu_hours in the worst
 * case, time limit x GPUs of every run. Returns 0, or -1 with ERR_CONFIG: there is no time limit,
 * or by how much the plan exceeds max_gpu_hours, and what would fit: with by_count, which of its
 * smaller GPU counts; otherwise, fewer runs. */
int run_cost_check(const struct plan *plan, bool by_count, double max_gpu_hours, struct err *e);

/* STUDY/split.json lists which images train and which validate. */

/* Writes the split, unless it exists, by means of unet-train, which reads the data. Returns 0, or
 * -1 with unet-train's error, or with ERR_CONFIG if data and model do not fit. */
int data_split_make(const struct plan *p, struct err *e);

/* Warnings about a plan, before it costs anything. */
#define PLAN_ADVICE_MAX 12
#define PLAN_ADVICE_SIZE 1536

struct plan_advice {
    long train, val;  /* numbers of images; both 0 if the data are unknown */
    int64_t pixels;   /* of all decoded images; 0 if unknown, as of patches without split.json */
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
