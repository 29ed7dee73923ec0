/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run costs at most, before anything is spent: GPU-hours and bytes on disk. */
#ifndef UNETCTL_LAUNCHER_PLAN_RUN_COST_H
#define UNETCTL_LAUNCHER_PLAN_RUN_COST_H

#include <stdint.h>

#include "launcher/plan/model_look.h"
#include "launcher/study/run_plan.h"
#include "src/cli.h"

#define RUN_COST_OPTION(max) \
    {"max-gpu-hours", 0, CLI_DOUBLE, "H", \
     "refuse (exit 3) what may cost more: time limit x GPUs, summed", &(max), 1e-9, 1e12}

/* The run's GPUs until the time limit; 0 without a limit. */
double run_cost_gpu_hours(const struct run *run, int time_min);

/* Decimals for printing GPU-hours: 1, or 3 where that would be 0.0 or close to it. */
int run_cost_decimals(double hours);

/* Bytes that one attempt writes: weights, the snapshots that it could resume from (two stay while a
 * third is written), record.jsonl (until the time limit), log.csv, scripts and output. An upper
 * bound in whole file-system blocks, for unet-train. */
int64_t run_cost_disk(const struct study *study, const struct model_look *model, int time_min);

/* Bytes of the file of decoded images that all runs share (data.cache), at most; 0 where they are
 * kept in memory: for `auto` up to 256 MiB for all processes of a node. */
int64_t run_cost_cache(const struct study *study, const struct run_plan *plan, long images);

/* May the plan cost no more than max_gpu_hours? Worst case: the time limit x GPUs of every run. 0,
 * or -1 with ERR_CONFIG: by how much it is too much, and which of its GPU counts would fit. */
int run_cost_check(const struct run_plan *plan, int time_min, double max_gpu_hours, struct err *e);

#endif
