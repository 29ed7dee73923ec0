/* SPDX-License-Identifier: BSD-3-Clause */
/* A study opened for work: study.yaml, its site, the ledger, the schedulers, and the options that
 * all verbs share. */
#ifndef UNETCTL_LAUNCHER_STUDY_WORKSPACE_H
#define UNETCTL_LAUNCHER_STUDY_WORKSPACE_H

#include <limits.h>

#include "launcher/scheduler/job.h"
#include "launcher/scheduler/scheduler.h"
#include "launcher/study/ledger.h"
#include "launcher/study/run_plan.h"
#include "launcher/study/site.h"
#include "launcher/study/study.h"
#include "src/cli.h"

/* What the command line said; NULL and 0: nothing. Options that are settings of the study are
 * CLI_TYPED, since study_open reads their variables. */
struct workspace_args {
    const char *dir, *site, *scheduler, *engine, *model, *gpus, *templates;
    long seeds;
    struct cli_list set; /* KEY=VALUE */
};

/* Rows of an option table over a static struct workspace_args. */
#define WORKSPACE_OPTION_STUDY(args)                                                    \
    {"study", 'C', CLI_STRING, "STUDY",                                                 \
     "the study's folder (default: this one or the nearest above)", &(args).dir, 0, 0}
#define WORKSPACE_OPTION_SCHEDULER(args)                                                \
    {"scheduler", 0, CLI_STRING, "KIND", "slurm, local or dry (default: the site's)",   \
     &(args).scheduler, 0, 0}
#define WORKSPACE_OPTION_SITE(args)                                                     \
    {"site", 0, CLI_STRING | CLI_TYPED, "SITE", "site profile (default: the study's)",  \
     &(args).site, 0, 0}
#define WORKSPACE_OPTION_SET(args)                                                      \
    {"set", 's', CLI_LIST, "KEY=VALUE",                                                 \
     "any key over study.yaml's, such as slurm.time=30:00", &(args).set, 0, 0}
#define WORKSPACE_OPTIONS_PLAN(args)                                                    \
    {"gpus", 'g', CLI_STRING | CLI_TYPED, "LIST",                                       \
     "GPU counts, such as 1..14 (default: the study's)", &(args).gpus, 0, 0},           \
    {"seeds", 0, CLI_INT | CLI_TYPED, "N",                                              \
     "seeds 1..N for each count (default: the study's)", &(args).seeds, 1, 1000},       \
    {"engine", 0, CLI_STRING | CLI_TYPED, "NAME",                                       \
     "who trains: embedded, tensorflow, horovod, pytorch, command (the study's)",       \
     &(args).engine, 0, 0},                                                             \
    {"model", 0, CLI_STRING, "NAME", "network: unet, resnet44 ... (the study's)",        \
     &(args).model, 0, 0},                                                              \
    WORKSPACE_OPTION_SET(args),                                                         \
    WORKSPACE_OPTION_SITE(args)

/* For the verbs that write job scripts. */
#define WORKSPACE_OPTION_TEMPLATES(args)                                                \
    {"templates", 0, CLI_STRING, "PATH", "folder with templates of your own, or one "   \
     "submit_file.sh (the study's)", &(args).templates, 0, 0}

/* For the verbs that submit: workspace_pack takes it. */
#define WORKSPACE_OPTION_ONE_ALLOCATION(flag)                                           \
    {"one-allocation", 0, CLI_FLAG, NULL, "all runs as steps of one job, side by side "     \
     "where they fit (Slurm)", &(flag), 0, 0}

enum { WORKSPACE_SLURM, WORKSPACE_LOCAL, WORKSPACE_DRY, WORKSPACE_NKINDS };

struct workspace {
    struct study study;
    struct site site;
    struct ledger ledger;
    const char *gpus, *scheduler; /* the list of counts; the kind that new jobs go to */
    const char *templates; /* folder or file of the user's, or "" */
    long seeds;
    long max_in_flight;           /* jobs at once; 0: the site's for local, any number for slurm */
    bool one_allocation;          /* new runs become steps of one job (see allocation.h) */
    const struct cli_list *after; /* what new jobs wait for (see dependency.h), or NULL */
    struct job_options options; /* the study's and site's; submit adds the words of its command
                                 * line */
    struct scheduler *open[WORKSPACE_NKINDS];
};

/* 0, or -1 and nothing to close. `--scheduler local` with a site that has another scheduler takes
 * the site "local", since layouts differ. */
int workspace_open(struct workspace *w, const struct workspace_args *args, struct err *e);
void workspace_close(struct workspace *w);

/* The words behind "--", over what study and site say about jobs. 0, or -1 with ERR_USAGE. */
int workspace_take_options(struct workspace *w, int nwords, char **words, struct err *e);

/* From now on new runs are for one job. 0, or -1 with ERR_USAGE: the scheduler cannot. */
int workspace_pack(struct workspace *w, struct err *e);

/* The scheduler of this kind, opened at first use and closed by workspace_close. */
struct scheduler *workspace_scheduler(struct workspace *w, const char *kind, struct err *e);

#endif
