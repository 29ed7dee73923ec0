/* SPDX-License-Identifier: BSD-3-Clause */
/* Many runs in one job (--one-allocation). STUDY/.unetctl/allocation-K/ has the job's script,
 * and in the file `runs` the job's runs, one "RUN ATTEMPT" per line.
 *
 * The job has as many nodes as its largest run. Its script runs each run's submit_file.sh, whose
 * ranks are steps of the job, always the largest run that fits next; Slurm assigns nodes and
 * GPUs to each step. The job's tag names the allocation; allocation_jobs.h presents it as one
 * job per run. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_ALLOCATION_H
#define UNETCTL_LAUNCHER_SUBMIT_ALLOCATION_H

#include "launcher/submit/attempt.h"

struct allocation_run {
    const struct run *run;
    int attempt;
};

struct allocation {
    char name[32]; /* "allocation-K" */
    char dir[PATH_MAX];
    struct attempt_job job;
};

/* Describes the job of the study's next allocation, on as many nodes as largest needs, which is
 * the largest run of it. Writes nothing. Returns 0, or -1. */
int allocation_describe(const struct plan *p, const struct run *largest,
                        struct allocation *dst, struct err *e);

/* Returns the GPU-hours of all GPUs of the job until its time limit in minutes, or 0 if that is 0,
 * which means none. The check fails with ERR_CONFIG if they are more than max_gpu_hours, or if
 * there is no time limit. */
double allocation_gpu_hours(const struct allocation *a, int time_min);
int allocation_check_cost(const struct allocation *a, int time_min, double max_gpu_hours,
                          struct err *e);

/* Returns the text of the allocation's script, which the caller frees, or NULL with an error. */
char *allocation_render(const struct plan *p, const struct allocation *a,
                        const struct allocation_run *runs, size_t count, struct err *e);

/* Makes the allocation's folder, with its script and the list of runs. Requires the ledger's
 * lock. */
int allocation_write(const struct plan *p, const struct allocation *a,
                     const struct allocation_run *runs, size_t count, struct err *e);

#endif
