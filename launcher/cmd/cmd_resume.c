/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <string.h>

#include "launcher/status/watch.h"
#include "launcher/submit/submission.h"
#include "src/log.h"
#include "src/plural.h"

static struct workspace_args args;
static bool wait_for_all, one_allocation, scale_batch;
static long gpus;

static const struct cli_option options[] = {
    WORKSPACE_OPTION_SCHEDULER(args),
    WORKSPACE_OPTION_SITE(args),
    WORKSPACE_OPTION_SET(args),
    WORKSPACE_OPTION_TEMPLATES(args),
    WORKSPACE_OPTION_ONE_ALLOCATION(one_allocation),
    {"gpus", 'g', CLI_INT | CLI_TYPED, "N",
     "continue with N GPUs instead of the planned ones; RUN must be named", &gpus, 1,
     SETTINGS_GPUS_MAX},
    {"scale-batch", 0, CLI_FLAG, NULL,
     "with --gpus: each GPU's batch stays, not that of all; the learning rate follows",
     &scale_batch, 0, 0},
    {"wait", 'w', CLI_FLAG, NULL, "then watch until they have ended", &wait_for_all, 0, 0},
    WORKSPACE_OPTION_STUDY(args),
    {0},
};

/* Where the study's newest submission went, unless the command line says where. */
static int open_as_before(struct workspace *w, char kind[16], struct err *e)
{
    if (workspace_open(w, &args, e))
        return -1;
    if (args.scheduler || w->ledger.count == 0)
        return 0;
    snprintf(kind, 16, "%s", w->ledger.entries[w->ledger.count - 1].scheduler);
    if (strcmp(kind, w->scheduler) == 0)
        return 0;
    workspace_close(w);
    args.scheduler = kind;
    return workspace_open(w, &args, e);
}

static int resume(struct workspace *w, int nids, char **ids, struct err *e)
{
    struct watch_options watch = {.ids = nids ? ids : NULL, .nids = (size_t)nids};
    struct submission_counts counts;

    const struct submission_size size = {(int)gpus, scale_batch};

    if (gpus && !nids)
        return err_set(e, ERR_USAGE, "resume: --gpus %ld: name the runs that are to go on with so "
                       "many (unetctl status lists them)", gpus);
    if (scale_batch && !gpus)
        return err_set(e, ERR_USAGE, "resume: --scale-batch goes with --gpus");
    if (submission_resume(w, ids, (size_t)nids, &size, &counts, e))
        return -1;
    if (counts.submitted)
        log_info("%zu run%s %ssubmitted again", counts.submitted, plural(counts.submitted),
                 strcmp(w->scheduler, "dry") == 0 ? "would be " : "");
    else
        log_info("nothing to resume: %zu active, %zu done", counts.active, counts.good);
    if (counts.left)
        return err_set(e, ERR_SCHED, "%zu run%s left for later ('unetctl resume' again takes what "
                       "fits then): %s", counts.left, counts.left == 1 ? " is" : "s are",
                       counts.limit.text);
    return wait_for_all && strcmp(w->scheduler, "dry") != 0 ? watch_runs(w, &watch, e) : 0;
}

static int cmd_resume_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct workspace w;
    char kind[16];
    int rc;

    if (open_as_before(&w, kind, e))
        return -1;
    rc = workspace_take_options(&w, nrest, rest, e) ||
                 (one_allocation && workspace_pack(&w, e))
             ? -1
             : 0;
    if (rc == 0)
        rc = resume(&w, noperands, operands, e);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_resume = {
    .name = "resume",
    .args = "[RUN...] [-- SBATCH OPTIONS]",
    .summary = "submit again what failed, was cancelled or ran out of time",
    .details =
        "Each such run (all of them without operands) gets a new attempt, which goes on from the\n"
        "newest checkpoint of the earlier ones, or starts from the beginning if there is none. "
        "Nothing\n"
        "of an old attempt is overwritten.\n"
        "\n"
        "A run keeps the settings that it began with. --set changes how its job runs "
        "(slurm.time=2:00:00)\n"
        "and where its files lie (data.dir=DIR). A study that was moved resumes in its new place.\n"
        "\n"
        "With --gpus the attempt has another number of GPUs. The batch over all of them stays, and "
        "so do\n"
        "steps and learning rates: the curve goes on as it would have, up to rounding, unless "
        "batch norm is\n"
        "local. Such a run measures no number of GPUs; `unetctl collect` calls it elastic.\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_resume_run,
};
