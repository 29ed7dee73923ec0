/* SPDX-License-Identifier: BSD-3-Clause */
/* A job as unetctl describes it to any scheduler, and the sbatch words that people add to it. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_JOB_H
#define UNETCTL_LAUNCHER_SCHEDULER_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"
#include "src/err.h"

/* What sites and users choose. NULL, 0 or false: not given, the scheduler's default holds. */
struct job_options {
    const char *partition, *account, *qos, *constraint, *reservation;
    const char *nodelist, *exclude, *dependency, *licenses;
    const char *mem; /* per node, see job_mem_decode */
    int time_min;    /* limit in minutes */
    int nice;
    bool exclusive, hold;
    /* Further words of sbatch, as they were given: the job is then submitted by sbatch itself. */
#define JOB_EXTRA_MAX 64
    const char *extra[JOB_EXTRA_MAX];
    int nextra;
    bool in_sandbox; /* whose sbatch knows which options there are */
    char **given; /* all words of the command line, NULL for none */
    int ngiven;
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
    bool gres;            /* GPUs are asked for with --gres, node by node, where that can be said */
    const char *gpu_type; /* such as v100; NULL or "": any */
    bool own_directives;  /* the script has #SBATCH lines of its author's, which hold */
    struct job_options options;
};

/* Decode the words behind "--" of `unetctl submit` over what o already has. Strings point into
 * argv. What a member of o stands for goes there; any other option of sbatch goes into extra as it
 * is. 0, or -1 with ERR_USAGE that names the word: what unetctl itself decides on (--nodes,
 * --output ...), a typing error, no option. */
int job_options_decode(struct job_options *o, int nwords, char **words, struct err *e);

/* An amount of memory as --mem takes it ("4G", "2000M", a number is MiB) in MiB; -1 if it is
 * none. */
long job_mem_decode(const char *text);

/* Add a folder's path to the name of a job's output: Slurm fills in patterns such as %j there, and
 * those of the folder are not meant. */
void job_add_output(const char *path, struct buf *dst);

/* Must the job have its nodes for itself? Yes if asked for, and where the tasks do not divide
 * evenly: next to a stranger's job Slurm may begin with the half-used node, and 2+1 becomes 1+2. */
bool job_needs_whole_nodes(const struct job *job);

/* Are the GPUs of this job asked for with --gres? */
bool job_takes_gres(const struct job *job);

/* The job as the words of an sbatch command line, without the script. failed: no memory. */
struct job_words {
    char **words;
    size_t count;
    bool failed;
};
void job_words_fill(const struct job *job, struct job_words *dst);
void job_words_destroy(struct job_words *w);

/* The same as "#SBATCH" lines, one option a line, each with its newline: they make `sbatch
 * submit_file.sh` the very job that scheduler_submit starts. The caller frees it. The template
 * prints them behind "#!/bin/bash". */
char *job_directives(const struct job *job);

#endif
