/* SPDX-License-Identifier: BSD-3-Clause */
/* A study opened for work: study.yaml, its site, the ledger, the schedulers, and the options
 * that several verbs share. */
#ifndef UNETCTL_LAUNCHER_STUDY_WORKSPACE_H
#define UNETCTL_LAUNCHER_STUDY_WORKSPACE_H

#include <limits.h>
#include <stdbool.h>

#include "launcher/scheduler/job.h"
#include "launcher/scheduler/scheduler.h"
#include "launcher/study/ledger.h"
#include "launcher/study/run_plan.h"
#include "launcher/study/site.h"
#include "launcher/study/study.h"
#include "launcher/study/variant.h"
#include "src/cli.h"

/* Values of the command line; NULL, 0 and false mean that an option is not given. --gpus, --seeds,
 * --engine and --site are CLI_TYPED: they come only from the command line, because study_open reads
 * their environment variables as those of settings. */
struct workspace_args {
    const char *dir, *site, *scheduler, *engine, *model, *gpus, *templates;
    long seeds, max_in_flight;
    bool one_allocation, take_over;
    struct cli_list set;  /* KEY=VALUE */
    struct cli_list vary; /* KEY=VALUE,VALUE */
    struct cli_list after;
};

/* Rows of an option table over a static struct workspace_args. */
#define WORKSPACE_OPTION_STUDY(args)                                                       \
    {"study", 'C', CLI_STRING, "STUDY",                                                    \
     "use the study in this folder (default: the current one or the nearest above)",       \
     &(args).dir, 0, 0}
#define WORKSPACE_OPTION_SCHEDULER(args)                                                   \
    {"scheduler", 0, CLI_STRING, "KIND",                                                   \
     "submit to slurm, local or dry (default: the site's scheduler)",                      \
     &(args).scheduler, 0, 0}
#define WORKSPACE_OPTION_SITE(args)                                                        \
    {"site", 0, CLI_STRING | CLI_TYPED, "SITE",                                            \
     "use this site profile (default: the study's; see 'unetctl site list')",              \
     &(args).site, 0, 0}
#define WORKSPACE_OPTION_SET(args)                                                         \
    {"set", 's', CLI_LIST, "KEY=VALUE",                                                    \
     "override a key of study.yaml, such as slurm.time=30:00; may be repeated",            \
     &(args).set, 0, 0}
#define WORKSPACE_OPTIONS_PLAN(args)                                                       \
    {"gpus", 'g', CLI_STRING | CLI_TYPED, "LIST",                                          \
     "run on these numbers of GPUs, such as 1..14 or 1,2,4 (default: the study's)",        \
     &(args).gpus, 0, 0},                                                                  \
    {"seeds", 0, CLI_INT | CLI_TYPED, "N",                                                 \
     "run each number of GPUs with the seeds 1 to N (default: the study's)",               \
     &(args).seeds, 1, 1000},                                                              \
    {"engine", 0, CLI_STRING | CLI_TYPED, "NAME",                                          \
     "train with this engine, such as pytorch or command (default: the study's)",          \
     &(args).engine, 0, 0},                                                                \
    {"model", 0, CLI_STRING, "NAME",                                                       \
     "train this network, such as unet or resnet44 (default: the study's)",                \
     &(args).model, 0, 0},                                                                 \
    WORKSPACE_OPTION_SET(args),                                                            \
    WORKSPACE_OPTION_SITE(args)

/* For verbs that plan, write or submit runs. */
#define WORKSPACE_OPTION_VARY(args)                                                        \
    {"vary", 0, CLI_LIST, "KEY=VALUE,VALUE",                                               \
     "run each with these values of a key of study.yaml; may be repeated", &(args).vary, 0, 0}

/* For verbs that write job scripts. */
#define WORKSPACE_OPTION_TEMPLATES(args)                                                   \
    {"templates", 0, CLI_STRING, "PATH",                                                   \
     "use job templates from this folder or submit_file.sh (default: the study's)",        \
     &(args).templates, 0, 0}

/* For verbs that submit, and for plan. */
#define WORKSPACE_OPTION_ONE_ALLOCATION(args)                                              \
    {"one-allocation", 0, CLI_FLAG, NULL,                                                  \
     "run everything as steps of one Slurm job, side by side where it fits",               \
     &(args).one_allocation, 0, 0}

/* For verbs that submit. */
#define WORKSPACE_OPTION_MAX_IN_FLIGHT(args)                                               \
    {"max-in-flight", 0, CLI_INT, "K",                                                     \
     "let at most K jobs of the study run at a time (default: no limit, or site)",         \
     &(args).max_in_flight, 1, 4096}
#define WORKSPACE_OPTION_AFTER(args)                                                       \
    {"after", 0, CLI_LIST, "WHAT",                                                         \
     "start when this has ended: a job number, a RUN, or another STUDY", &(args).after, 0, 0}

/* For verbs that submit or cancel. */
#define WORKSPACE_OPTION_TAKE_OVER(args)                                                   \
    {"take-over", 0, CLI_FLAG, NULL,                                                       \
     "act on runs of other users, too, and become their submitter", &(args).take_over, 0, 0}

enum { WORKSPACE_SLURM, WORKSPACE_LOCAL, WORKSPACE_DRY, WORKSPACE_NKINDS };

struct workspace {
    struct study study;
    struct site site;
    struct ledger ledger;
    /* gpus: the list of GPU counts; scheduler: the kind that new jobs go to */
    const char *gpus, *scheduler;
    const char *templates;        /* the user's folder or file of job templates, or "" */
    long seeds;
    /* jobs at a time; 0: the site's number for local, no limit for slurm */
    long max_in_flight;
    bool one_allocation;          /* new runs become steps of one job (allocation.h) */
    bool take_over;               /* runs that other users submitted are not left to them */
    const struct cli_list *after; /* what new jobs wait for (dependency.h) */
    struct job_options options;   /* merged from all layers */
    char *excluded; /* options.exclude with bad nodes (bad_nodes.h), or NULL */
    /* Asked under the ledger's lock before anything is submitted: false if that is no longer
     * wanted. NULL: it is. */
    bool (*is_wanted)(const struct workspace *w, void *arg);
    void *is_wanted_arg;
    struct scheduler *open[WORKSPACE_NKINDS];
    struct variants variants;
    struct workspace *of_variants; /* each opened with the variant's settings */
};

/* Opens the study of args; args must outlive w. With `--scheduler local`, a site with another
 * scheduler is replaced by the site "local", since their layouts differ. Returns 0, or -1; then
 * there is nothing to close. */
int workspace_open(struct workspace *w, const struct workspace_args *args, struct err *e);

/* Does the same for verbs that describe jobs. words are those after "--": options of sbatch, which
 * override those of study and site. They must outlive w. */
int workspace_open_jobs(struct workspace *w, const struct workspace_args *args, int nwords,
                        char **words, struct err *e);

/* Opens the variants of a study that workspace_open opened, for verbs that list its runs;
 * workspace_close closes them. Returns 0, or -1. */
int workspace_open_variants(struct workspace *w, const struct workspace_args *args, int nwords,
                            char **words, struct err *e);

/* Checks what the script that comes with unetctl for another engine would refuse in the job.
 * Returns 0, or -1 with ERR_CONFIG. */
int workspace_check_shipped(const struct workspace *w, struct err *e);

/* Plans the runs of w->gpus and w->seeds after these checks and effect_check. Returns 0, or -1 as
 * run_plan_compute. */
int workspace_plan(const struct workspace *w, struct run_plan *dst, struct err *e);

void workspace_close(struct workspace *w);

/* Returns the scheduler of this kind, or NULL. It is opened at first use and closed by
 * workspace_close. */
struct scheduler *workspace_scheduler(struct workspace *w, const char *kind, struct err *e);

#endif
