/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a job for any scheduler, and options of sbatch that users add. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_JOB_H
#define UNETCTL_LAUNCHER_SCHEDULER_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"
#include "src/err.h"

/* Options of sites and users. NULL, 0 or false: the scheduler's default. */
struct job_options {
    const char *partition, *account, *qos, *constraint, *reservation;
    const char *nodelist, *exclude, *dependency, *licenses;
    const char *mem; /* per node, see job_mem_decode */
    int time_min;    /* limit in minutes */
    int nice;
    bool exclusive, hold;
    /* Further options of sbatch, verbatim: then sbatch itself submits the job. */
#define JOB_EXTRA_MAX 64
    const char *extra[JOB_EXTRA_MAX];
    int nextra;
    bool in_sandbox; /* the sandbox's sbatch defines the options */
    char **given; /* all words of the command line, NULL for none */
    int ngiven;
};

/* Exit code of a script or trainer that stopped with a checkpoint and can continue. */
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

/* Decodes the words after "--" of `unetctl submit` over the values of o. Strings point into argv.
 * Options without a member of o are added to extra. 0, or -1 with ERR_USAGE that names the word: an
 * option that unetctl decides on (--nodes, --output ...), a typing error, not an option. */
int job_options_decode(struct job_options *o, int nwords, char **words, struct err *e);

/* A value of --mem ("4G", "2000M", a plain number is MiB) in MiB; -1 if it is invalid. */
long job_mem_decode(const char *text);

/* Adds a folder's path to the name of a job's output, with % escaped: Slurm expands patterns
 * such as %j there. */
void job_add_output(const char *path, struct buf *dst);

/* Must the job have its nodes exclusively? Yes if requested, and if the tasks do not divide evenly:
 * beside another job Slurm may start with the half-used node, so that 2+1 becomes 1+2. */
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

/* The same as "#SBATCH" lines, one option per line, each with its newline: `sbatch submit_file.sh`
 * starts the same job as scheduler_submit. The caller frees it. */
char *job_directives(const struct job *job);

#endif
