/* SPDX-License-Identifier: BSD-3-Clause */
/* Many runs in one job (--one-allocation). STUDY/.unetctl/allocation-K/ has the job's script,
 * and in `runs` its runs, one "RUN ATTEMPT" per line.
 *
 * The job has as many nodes as the largest run. Its script starts each run's submit_file.sh as
 * steps of the job, the largest that fits first; Slurm assigns nodes and GPUs to each step. The
 * job's tag names the allocation; allocation_jobs.h expands it to one job for each of its runs. */
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

/* The next allocation of the study, for runs up to this one. Nothing is written. */
int allocation_describe(const struct workspace *w, const struct run *largest,
                        struct allocation *dst, struct err *e);

/* GPU-hours until the time limit, 0 without one. check: ERR_CONFIG if they may exceed the
 * maximum. */
double allocation_gpu_hours(const struct allocation *a, int time_min);
int allocation_check_cost(const struct allocation *a, int time_min, double max_gpu_hours,
                          struct err *e);

/* Its script, which the caller frees; NULL with an error. */
char *allocation_render(const struct workspace *w, const struct allocation *a,
                        const struct allocation_run *runs, size_t count, struct err *e);

/* Write its folder. Under the ledger's lock. */
int allocation_write(const struct workspace *w, const struct allocation *a,
                     const struct allocation_run *runs, size_t count, struct err *e);

#endif
