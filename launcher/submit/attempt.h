/* SPDX-License-Identifier: BSD-3-Clause */
/* One attempt of a run: its job for the scheduler, and its files. */
#pragma once

#include "src/base.h"

#include "launcher/study/workspace.h"
#include "src/atomicfile.h"

/* The nodes of all runs of a layout (slurm.same_nodes): those where Slurm expected the first of
 * them to run, as lines "GPUS NODES LIST" in .unetctl/same-nodes, of which the last counts. */
#define SAME_NODES_SIZE 128 /* as scheduler_forecast.nodes; longer lists are not used */

/* Asks the scheduler where the job, which has no node list, would run, and keeps the answer. */
int same_nodes_choose(const struct plan *p, struct scheduler *s, const struct run *run,
                      const struct job *job, struct err *e);

/* Strings of job point into this struct, which therefore must not be moved, and into the
 * workspace. attempt_job returns 0, or -1. */
struct attempt_job {
    struct job job;
    char tag[256], name[160], nodes[SAME_NODES_SIZE];
    char script[PATH_MAX], work_dir[PATH_MAX], output[PATH_MAX];
};
int attempt_job(const struct plan *p, const struct run *run, int attempt, struct attempt_job *dst,
                struct err *e);

/* Checks that the scripts of a run can be written: its program, templates and markers. */
int attempt_check(const struct plan *p, const struct run *run, struct err *e);

/* Makes the attempt's folders, and adds its files to the batch: run_file.sh, submit_file.sh, and
 * run.json, which comes last, once per run, and for each attempt with its own plan. From the second
 * attempt on the run keeps its run.json. If this attempt has begun, nothing is added, and it is
 * ERR_CONFIG if the study's settings have changed. Requires the ledger's lock. */
int attempt_generate(const struct plan *p, const struct run *run, int attempt,
                     struct atomicfile_batch *files, struct err *e);

/* Removes the attempt's folders, if they are empty, as after a batch that could not be written. */
void attempt_remove_empty(const struct plan *p, const struct run *run, int attempt);

/* Checks the files of an attempt that has not begun: the run's run.json must be valid, and
 * attempt-K and both scripts must exist. A run.json of the attempt itself is not checked. Returns
 * whether they are complete, and else the reason in *why. */
bool attempt_is_whole(const struct plan *p, const struct run *run, int attempt, struct err *why);

/* Generates the files of a single attempt, writes them and makes them durable. */
int attempt_write(const struct plan *p, const struct run *run, int attempt, struct err *e);

/* The settings that a run began with, from its run.json. A run keeps them when it resumes. */

/* Makes dst the study of p with the settings of a run that has begun instead. The command line
 * only changes paths and how jobs run. *own_plan becomes whether the attempt needs its own
 * run.json, because paths differ from those in the run's. A run that never trained
 * (run_dir_never_trained) has the study's settings. Returns 1 if these are the study's own, and
 * none is the command line's; then run_settings_check has nothing to say. Returns 0 otherwise, or
 * -1. Unless it is -1, the caller calls study_close. */
int run_settings_open(const struct plan *p, const char *run, struct study *dst, bool *own_plan,
                      struct err *e);

/* Logs the first difference between the settings of the run, from run_settings_open, and those of
 * the study of p, and whether there are more. Returns 0 or -1: with ERR_USAGE for an option of the
 * command line that would have no effect. */
int run_settings_check(const struct plan *p, const struct run *run, struct err *e);

/* Checks that the run still has the settings in its run.json, if it has trained. Returns 0, or -1
 * with ERR_CONFIG that names the first value that differs. */
int run_settings_compare(const struct plan *p, const struct run *run, struct err *e);

/* What a run executes: the container and, unless its engine is the embedded one, its script and the
 * files beside it. unetctl lists them in RUN/source.list when it writes an attempt:
 *
 *     folder /home/me/work
 *     file train.py
 *     file model/unet.py
 *     container /images/torch.sif
 *
 * The job hashes and copies them when it starts (templates/source.sh); collect makes runs with
 * another hash another series. */

/* Files are listed up to these bounds. */
#define SOURCE_FILES_MAX 500
#define SOURCE_FILES_ONE_MAX ((size_t)1 << 20)
#define SOURCE_FILES_ALL_MAX ((size_t)8 << 20)

/* Checks that run would now execute what another run's attempt executed, unless that is unknown.
 * Returns 1 if it would, 0 if it is unknown, or -1 with ERR_CONFIG that names both hashes. An image
 * of a container that is neither a file nor a folder here does not count. */
int source_files_compare(const struct plan *p, const struct run *run, const char *other,
                         int attempt, struct err *e);

/* What runs of the study that are done have measured, for plans of others like them. */

/* Sets seconds[i] to the time of training that run i of plan is expected to need: the mean over the
 * runs of the study, or of the run's variant, with the same engine, model and number of GPUs that
 * were done in their first attempt with the settings that it has now; 0 if there are none. Runs
 * that cannot be read are left out. Returns 0, or -1 if memory ran out. */
int measured_collect(const struct plan *plan, double *seconds, struct err *e);

/* Many runs in one job (--one-allocation). STUDY/.unetctl/allocation-K/ has the job's script,
 * and in the file `runs` the job's runs, one "RUN ATTEMPT" per line.
 *
 * The job has as many nodes as its largest run. Its script runs each run's submit_file.sh, whose
 * ranks are steps of the job, always the largest run that fits next; Slurm assigns nodes and
 * GPUs to each step. The job's tag names the allocation; status.h presents it as one
 * job per run. */
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
 * which means none. */
double allocation_gpu_hours(const struct allocation *a, int time_min);
