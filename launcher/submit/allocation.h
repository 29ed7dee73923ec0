/* SPDX-License-Identifier: BSD-3-Clause */
/* Many runs inside one job (--one-allocation): STUDY/.unetctl/allocation-K/ has the job's script,
 * and in `runs` what it works off, one "RUN ATTEMPT" a line.
 *
 * The job has as many nodes as the largest run. Its script starts each run's own submit_file.sh as
 * steps of the job, the largest that fits first; Slurm gives each step its nodes and GPUs. The
 * job's tag names the allocation; who asks for the study's jobs gets one for each of its runs. */
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

/* Its GPUs until the time limit, 0 without one; may it cost no more? ERR_CONFIG if it may. */
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
