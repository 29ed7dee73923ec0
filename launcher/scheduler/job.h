/* SPDX-License-Identifier: BSD-3-Clause */
/* A job as any scheduler takes it, the options of sbatch that users may add, and the variables that
 * sbatch reads. */
#pragma once

#include "src/base.h"
#include "src/settings/settings.h"

/* Options from sites and users. NULL, 0 or false means the scheduler's default. */
struct job_options {
    const char *partition, *account, *qos, *constraint, *reservation;
    const char *nodelist, *exclude, *dependency, *licenses;
    const char *mem; /* per node, see job_mem_decode */
    const char *comment;  /* the user's own text, which job_comment puts behind the tag */
#define JOB_COMMENT_MAX 200
    const char *clusters; /* where the job must go; only the cluster that answers is possible */
    int time_min;    /* the time limit in minutes */
    bool unlimited;  /* the job asks for none (--time=UNLIMITED); time_min is 0 */
    int nice;
    bool exclusive, hold;
    /* Further options of sbatch, unchanged. */
#define JOB_EXTRA_MAX 64
    const char *extra[JOB_EXTRA_MAX];
    int nextra;
    bool in_sandbox; /* unknown options are looked up in the help of the sandbox's sbatch */
    /* The words after "--" of `unetctl submit`, used if own_directives of the job is set; NULL:
     * none. job_options_decode does not set them. */
    char **given;
    int ngiven;
};

/* The exit code of a script or trainer that stopped with a checkpoint and can resume. */
#define JOB_EXIT_AGAIN 75
/* That of a script which cannot write into the attempt's folder, not even why it fails. */
#define JOB_EXIT_FULL 74

/* How GPUs are requested: --gpus-per-task or, if each node has the same number of tasks, --gres,
 * --gpus-per-node or --gpus. */
enum job_gpus { JOB_GPUS_PER_TASK, JOB_GPUS_GRES, JOB_GPUS_PER_NODE, JOB_GPUS_ALL };

struct job {
    const char *tag;      /* "unetctl:STUDY_ID:RUN:ATTEMPT", unique, without a blank */
    const char *name;     /* the name that squeue shows */
    const char *script;   /* absolute path of submit_file.sh */
    const char *work_dir; /* absolute; the job's current directory */
    /* Absolute path for stdout and stderr, in an existing folder. "%j" becomes the job's id,
     * "%%" a percent sign. */
    const char *output;
    int nodes;            /* the fewest nodes that have enough GPUs: 2 for 3 GPUs on 2-GPU nodes */
    /* Number of tasks. Slurm fills one node after the other: 3 tasks on 2-GPU nodes run as 2 on
     * the first and 1 on the second, written 2+1 here. */
    int tasks;
    int gpus_per_task;    /* 1, or all GPUs of the job if one task uses them all */
    int cpus_per_task;    /* at least 1 */
    /* seconds before the time limit at which the script gets USR1; 0: never */
    int signal_s;
    /* How often the job may be requeued after it has stopped with a checkpoint; 0: never. In Slurm
     * its script keeps to the number. */
    int requeues;
    enum job_gpus gpu_request;
    const char *gpu_type; /* such as v100; NULL or "": any type */
    /* The script has #SBATCH lines of its template's author. They decide; of this struct only
     * name, tag, work_dir, output and options.given override them, and sbatch's variables. */
    bool own_directives;
    struct job_options options;
};

/* Decodes options of sbatch, such as the words after "--" of `unetctl submit`, into o, over its
 * values. Strings point into words. Options without a member of o, and flags with a value
 * (--exclusive=user), are added to extra. Returns 0, or -1 with ERR_USAGE that names the word: it
 * is an option that unetctl sets itself (--nodes, --output ...), a typing error, or not an option;
 * its value is missing or invalid; or extra is full. o then holds the words before it. */
int job_options_decode(struct job_options *o, int nwords, char **words, struct err *e);

/* Returns whether a job of so many nodes and tasks must have its nodes exclusively. It must if the
 * user requests that, or if the tasks cannot be divided evenly among the nodes: on a shared cluster
 * Slurm may begin with a partly used node, and 2+1 would become 1+2. */
bool job_needs_whole_nodes(const struct job_options *o, int nodes, int tasks);

/* Returns a value of --mem in MiB, or -1 if it is invalid. The unit is K (rounded up to MiB), M,
 * G or T, in either case; a plain number is in MiB. */
long job_mem_decode(const char *text);

/* Appends a folder's path, with which job.output begins, to dst. Each % is written as %%, because
 * Slurm expands patterns such as %j in job.output. */
void job_add_output(const char *path, struct buf *dst);

/* The job as the words of an sbatch command line, without "sbatch" and the script. failed: memory
 * ran out, and words are missing. The caller clears the list in either case. */
struct job_words {
    struct setting_lines list;
    bool failed;
};
void job_words_fill(const struct job *job, struct job_words *dst);

/* Returns the words of job_words_fill as a text of "#SBATCH" lines, each with one option and a
 * newline, so that `sbatch submit_file.sh` starts the same job as scheduler_submit. The caller
 * frees it. NULL if memory ran out. */
char *job_directives(const struct job *job);

/* How the installed sbatch lists an option in its help, including those of Slurm's plugins. */
enum sbatch_help {
    SBATCH_HELP_NONE, /* not listed, or sbatch is not installed */
    SBATCH_HELP_FLAG,
    SBATCH_HELP_OPTIONAL, /* a value may follow '=' */
    SBATCH_HELP_VALUE
};

/* Looks for --NAME in the help of sbatch; in_sandbox: of the running sandbox's sbatch. */
enum sbatch_help sbatch_help_find(const char *name, bool in_sandbox);

/* Looks for --NAME in text, which is the output of `sbatch --help`. */
enum sbatch_help sbatch_help_parse(const char *text, const char *name);

/* Appends to dst what argv prints on stdout within 10 seconds, up to about 1 MiB; nothing if the
 * command is missing. argv ends with NULL. in_sandbox: the command runs on the login node of the
 * running sandbox, and nothing is appended if none runs. */
void sbatch_help_ask(char *const argv[], bool in_sandbox, struct buf *dst);

/* The variables that sbatch reads as options (INPUT ENVIRONMENT VARIABLES of sbatch(1)) and that it
 * does not get as they are. doc/SLURM.md has the same table. */
enum sbatch_rule {
    SBATCH_SETTING, /* is the setting slurm.TO unless another layer sets that */
    SBATCH_CLUSTER, /* is compared with the cluster that answers */
    SBATCH_DECIDED  /* is not used, and named: unetctl decides on this, for the reason TO */
};

struct sbatch_variable {
    const char *name; /* NULL ends the table */
    enum sbatch_rule rule;
    const char *to;
};

extern const struct sbatch_variable sbatch_environment_variables[];

/* Returns whether sbatch, and so the job, gets this entry ("NAME=VALUE") of the environment.
 * own_directives: the job's script decides on settings, so sbatch gets their variables. */
bool sbatch_environment_passes(const char *entry, bool own_directives);

/* Takes the name of the cluster from variables into o. Returns 0, or -1 with ERR_USAGE if variables
 * ask for GPUs in $SBATCH_GRES, which unetctl decides on. */
int sbatch_environment_take(struct job_options *o, struct err *e);

/* Adds the variables of sbatch that are set and not used, each with its reason. */
void sbatch_environment_unused(struct buf *dst);
