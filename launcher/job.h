/* SPDX-License-Identifier: BSD-3-Clause */
/* A job as unetctl describes it to any scheduler, and the sbatch words that people add to it. */
#ifndef UNETCTL_LAUNCHER_JOB_H
#define UNETCTL_LAUNCHER_JOB_H

#include <stdbool.h>

#include "src/err.h"

/* What sites and users choose. NULL, 0 or false: not given, the scheduler's default holds. */
struct job_options {
    const char *partition, *account, *qos, *constraint, *reservation;
    const char *nodelist, *exclude, *dependency, *licenses;
    const char *mem; /* per node, see job_mem_decode */
    int time_min;    /* limit in minutes */
    int nice;
    bool exclusive, hold;
};

/* Exit code of a script that has a checkpoint and wants to go on; of the trainer, too. */
#define JOB_EXIT_AGAIN 75

struct job {
    const char *tag;      /* "unetctl:STUDY_ID:RUN:ATTEMPT", unique; the job's comment in Slurm */
    const char *name;     /* as squeue shows it */
    const char *script;   /* absolute path of submit_file.sh */
    const char *work_dir; /* absolute; the job's current directory */
    const char *output;   /* stdout and stderr, absolute; "%j" becomes the job id, "%%" a percent
                           * sign; its folder exists */
    int nodes;            /* the fewest that hold the GPUs: 3 GPUs on 2-GPU nodes are 2 nodes */
    int tasks;            /* ranks; Slurm fills nodes in order: 2+1, see job_needs_whole_nodes */
    int gpus_per_task;    /* 1; a mirrored task on one node has them all */
    int cpus_per_task;    /* at least 1 */
    int signal_s;         /* USR1 to the script so long before the time limit; 0: none */
    int requeues;         /* times the job may be started again; 0: never */
    struct job_options options;
};

/* Decode the words behind "--" of `unetctl submit` over what o already has. Strings point into
 * argv. 0, or -1 with ERR_USAGE that names the word. Accepted, as sbatch spells them: --partition
 * -p, --account -A, --qos -q, --constraint -C, --time -t, --mem, --reservation, --nodelist -w,
 * --exclude -x, --dependency -d, --licenses -L, --nice, --exclusive, --hold -H. */
int job_options_decode(struct job_options *o, int nwords, char **words, struct err *e);

/* A Slurm time limit (M, M:S, H:M:S, D-H, D-H:M, D-H:M:S) in minutes, rounded up; -1 if it is none. */
int job_time_decode(const char *text);

/* An amount of memory as --mem takes it ("4G", "2000M", a number is MiB) in MiB; -1 if it is none. */
long job_mem_decode(const char *text);

/* Must the job have its nodes for itself? Yes if asked for, and where the tasks do not divide evenly:
 * next to a stranger's job Slurm may begin with the half-used node, and 2+1 becomes 1+2. */
bool job_needs_whole_nodes(const struct job *job);

/* The "#SBATCH" lines that make `sbatch submit_file.sh` the very job that scheduler_submit starts,
 * one option a line, each with its newline. The caller frees it. The template prints them behind
 * "#!/bin/bash". */
char *job_directives(const struct job *job);

#endif
