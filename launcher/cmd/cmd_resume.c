/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/plan/cost.h"
#include "launcher/status/watch.h"
#include "launcher/submit/submission.h"

static struct {
    struct plan_args args;
    bool wait_for_all, scale_batch;
    long gpus;
    double max_gpu_hours;
} given;

static const struct cli_option options[] = {
    WORKSPACE_OPTION_SCHEDULER(given.args),
    WORKSPACE_OPTION_SITE(given.args),
    WORKSPACE_OPTION_SET(given.args),
    WORKSPACE_OPTION_TEMPLATES(given.args),
    WORKSPACE_OPTION_ONE_ALLOCATION(given.args),
    WORKSPACE_OPTION_TAKE_OVER(given.args),
    {"gpus", 'g', CLI_INT | CLI_TYPED, "N",
     "continue the named runs with N GPUs instead of the planned number", &given.gpus, 1,
     SETTINGS_GPUS_MAX},
    {"scale-batch", 0, CLI_FLAG, NULL,
     "with --gpus: keep the batch of each GPU and scale the learning rate",
     &given.scale_batch, 0, 0},
    WORKSPACE_OPTION_MAX_IN_FLIGHT(given.args),
    WORKSPACE_OPTION_AFTER(given.args),
    RUN_COST_OPTION(given.max_gpu_hours),
    {"wait", 'w', CLI_FLAG, NULL, "watch the runs until they have ended", &given.wait_for_all, 0, 0},
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

/* Opens the workspace. Without --scheduler, new jobs are submitted to the scheduler that the
 * newest submission used; the study's own site may be another one. */
static int open_as_before(struct workspace *w, int nrest, char **rest, char kind[16], struct err *e)
{
    if (workspace_open(w, &given.args, e))
        return -1;
    if (!given.args.scheduler && w->ledger.count) {
        snprintf(kind, 16, "%s", w->ledger.entries[w->ledger.count - 1].scheduler);
        if (strcmp(kind, workspace_kind(w)) != 0)
            *(strcmp(kind, "sandbox") == 0 ? &given.args.site : &given.args.scheduler) = kind;
    }
    workspace_close(w);
    return workspace_open_jobs(w, &given.args, nrest, rest, e);
}

static int resume_runs(struct workspace *w, int nids, char **ids, int nrest, char **rest,
                       struct err *e)
{
    struct watch_options watch = {.ids = nids ? ids : NULL, .nids = (size_t)nids};
    struct submission_counts counts;
    const struct submission_size size = {(int)given.gpus, given.scale_batch, given.max_gpu_hours};

    if (given.gpus && !nids)
        return err_set(e, ERR_USAGE, "resume: --gpus %ld: name the runs to continue with this "
                       "number of GPUs ('unetctl status' lists all)", given.gpus);
    if (given.scale_batch && !given.gpus)
        return err_set(e, ERR_USAGE, "resume: --scale-batch needs --gpus");
    if (submission_resume(w, ids, (size_t)nids, &size, &counts, e))
        return -1;
    if (counts.submitted)
        log_info("%zu run%s %s resumed", counts.submitted, plural(counts.submitted),
                 strcmp(w->plan.scheduler, "dry") == 0 ? "would be"
                 : counts.submitted == 1          ? "was"
                                                  : "were");
    else if (!counts.left)
        log_info("no run needs to be resumed: %zu active, %zu done%s", counts.active, counts.good,
                 counts.others ? ", and those left alone" : "");
    submission_warn_unreached(&given.args, nrest, rest, counts.active);
    if (counts.left)
        return err_set(e, ERR_SCHED, "%zu run%s left for later: %s (type 'unetctl resume' again "
                       "when other jobs have ended)", counts.left,
                       counts.left == 1 ? " is" : "s are", counts.limit.text);
    return given.wait_for_all && strcmp(w->plan.scheduler, "dry") != 0 ? watch_runs(w, &watch, e) : 0;
}

static int cmd_resume_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct workspace w;
    char kind[16];
    int rc;

    if (open_as_before(&w, nrest, rest, kind, e))
        return -1;
    rc = resume_runs(&w, noperands, operands, nrest, rest, e);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_resume = {
    .name = "resume",
    .args = "[RUN...] [-- SBATCH OPTIONS]",
    .summary = "submit again the runs that failed, were cancelled or timed out",
    .details =
        "Each such run, or each RUN named, gets a new attempt. It continues from the newest\n"
        "checkpoint of earlier attempts, or starts from the beginning if there is none. Nothing\n"
        "of an earlier attempt is overwritten.\n"
        "\n"
        "A run keeps the settings it began with. --set can change how its job runs\n"
        "(slurm.time=2:00:00) and where its files are (data.dir=DIR). A study that was moved\n"
        "resumes in its new place.\n"
        "\n"
        "--gpus changes the number of GPUs. The batch over all GPUs, the steps and the learning\n"
        "rates stay, so the training continues as before up to rounding, unless batch norm is\n"
        "local. 'unetctl collect' calls such a run elastic; it is excluded from scaling curves.\n"
        "\n"
        "--max-in-flight, --after and --max-gpu-hours hold for the runs that this call submits.\n"
        "Example: unetctl resume unet-g04-s1 --set slurm.time=2:00:00 --wait\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_resume_run,
};
