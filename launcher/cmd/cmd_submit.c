/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/plan/run_cost.h"
#include "launcher/status/watch.h"
#include "launcher/submit/dry_run.h"
#include "launcher/submit/left.h"
#include "launcher/submit/submission.h"
#include "launcher/submit/unreached.h"
#include "src/log.h"
#include "src/plural.h"

static struct workspace_args args;
static bool wait_for_all, dry_run, parsable;
static long timeout_s;
static double max_gpu_hours;

static const struct cli_option options[] = {
    WORKSPACE_OPTIONS_PLAN(args),
    WORKSPACE_OPTION_VARY(args),
    WORKSPACE_OPTION_SCHEDULER(args),
    WORKSPACE_OPTION_TEMPLATES(args),
    {"wait", 'w', CLI_FLAG, NULL, "watch the runs until all have ended", &wait_for_all, 0, 0},
    {"timeout", 0, CLI_INT, "SECONDS",
     "with --wait: stop waiting after this time (exit 6); the jobs continue", &timeout_s, 1, 1e9},
    RUN_COST_OPTION(max_gpu_hours),
    {"parsable", 0, CLI_FLAG, NULL, "print the job id of each run, one per line, in plan order",
     &parsable, 0, 0},
    DRY_RUN_OPTION(dry_run),
    WORKSPACE_OPTION_MAX_IN_FLIGHT(args),
    WORKSPACE_OPTION_ONE_ALLOCATION(args),
    WORKSPACE_OPTION_TAKE_OVER(args),
    WORKSPACE_OPTION_AFTER(args),
    WORKSPACE_OPTION_STUDY(args),
    {0},
};

struct planned {
    struct workspace *w;
    const struct run_plan *plan;
};

static long submit_left(void *arg, struct err *e)
{
    const struct planned *p = arg;
    struct submission_counts counts;

    if (submission_submit(p->w, p->plan, &counts, e) ||
        (counts.left == 0 && left_note(p->w, NULL, e)))
        return -1;
    return (long)counts.left;
}

static int watch_plan(struct workspace *w, const struct run_plan *plan, bool any_left,
                      struct err *e)
{
    struct planned planned = {w, plan};
    struct watch_options watch = {.nids = plan->count,
                                  .timeout_s = timeout_s,
                                  .submit_left = any_left ? submit_left : NULL,
                                  .arg = &planned};
    int rc;

    watch.ids = calloc(plan->count, sizeof *watch.ids);
    if (!watch.ids)
        return err_errno(e, ERR_INTERNAL, errno, "submit");
    for (size_t i = 0; i < plan->count; i++)
        watch.ids[i] = plan->runs[i].id;
    rc = watch_runs(w, &watch, e);
    free(watch.ids);
    return rc;
}

/* Prints a line for each run of the plan, also of those submitted earlier: the id of its last job,
 * or nothing if it never had one. */
static void print_ids(const struct workspace *w, const struct run_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct ledger_entry *entry = ledger_find(&w->ledger, plan->runs[i].id, 0);
        puts(entry ? entry->job : "");
    }
    fflush(stdout);
}

/* Adds an option, if it was given, as the word --NAME=VALUE; of a list, one word per value. */
static void add_words(json_t *words, const struct cli_option *o)
{
    const struct cli_list *list = o->dst;

    switch (o->type & ~CLI_TYPED) {
    case CLI_FLAG:
        if (*(const bool *)o->dst)
            json_array_append_new(words, json_sprintf("--%s", o->name));
        break;
    case CLI_STRING:
        if (*(const char *const *)o->dst)
            json_array_append_new(words, json_sprintf("--%s=%s", o->name,
                                                      *(const char *const *)o->dst));
        break;
    case CLI_INT:
        if (*(const long *)o->dst)
            json_array_append_new(words, json_sprintf("--%s=%ld", o->name, *(const long *)o->dst));
        break;
    case CLI_DOUBLE:
        if (*(const double *)o->dst > 0)
            json_array_append_new(words, json_sprintf("--%s=%.17g", o->name,
                                                      *(const double *)o->dst));
        break;
    case CLI_LIST:
        for (size_t i = 0; i < list->count; i++)
            json_array_append_new(words, json_sprintf("--%s=%s", o->name, list->values[i]));
    }
}

/* Returns the words of the command line that a repetition of it needs, without the options that
 * concern only this call. */
static json_t *encode_words(int nrest, char **rest)
{
    json_t *words = json_array();

    for (const struct cli_option *o = options; o->name; o++)
        if (o->dst != &wait_for_all && o->dst != &timeout_s && o->dst != &parsable)
            add_words(words, o);
    json_array_append_new(words, json_string("--"));
    for (int i = 0; i < nrest; i++)
        json_array_append_new(words, json_string(rest[i]));
    return words;
}

static int submit_plan(struct workspace *w, const struct run_plan *plan, int nrest, char **rest,
                       struct err *e)
{
    struct submission_counts counts;
    bool dry;

    if (submission_check_cost(w, plan, true, max_gpu_hours, e))
        return err_prefix(e, "nothing was submitted");
    if (dry_run)
        return dry_run_print(w, plan, e);
    if (submission_submit(w, plan, &counts, e))
        return -1;
    dry = strcmp(w->scheduler, "dry") == 0;
    if (!dry && left_note(w, counts.left ? encode_words(nrest, rest) : NULL, e))
        return -1;
    if (parsable)
        print_ids(w, plan);
    log_info("%zu run%s %ssubmitted; before: %zu active, %zu done, %zu without a result",
             counts.submitted, plural(counts.submitted), dry ? "would be " : "",
             counts.active, counts.good, counts.bad);
    unreached_report(&args, nrest, rest, counts.active);
    if (counts.others)
        log_info("%zu run%s left to other users, who submitted them ('--take-over' acts on them "
                 "nevertheless)", counts.others, counts.others == 1 ? " is" : "s are");
    if (counts.left && !wait_for_all)
        return err_set(e, ERR_SCHED, "%zu run%s left for later: %s ('unetctl watch' submits them "
                                     "as "
                       "other jobs end, or type 'unetctl submit' again then)", counts.left,
                       counts.left == 1 ? " is" : "s are", counts.limit.text);
    if (counts.left)
        log_info("%zu run%s will be submitted as other jobs end: %s", counts.left,
                 plural(counts.left), counts.limit.text);
    return wait_for_all && !dry ? watch_plan(w, plan, counts.left > 0, e) : 0;
}

static int cmd_submit_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct run_plan plan = {0};
    struct workspace w;
    int rc = -1;

    (void)noperands, (void)operands;
    if (timeout_s && !wait_for_all)
        return err_set(e, ERR_USAGE, "submit: --timeout needs --wait");
    if (workspace_open_jobs(&w, &args, nrest, rest, e))
        return -1;
    if (workspace_plan(&w, &plan, e) == 0)
        rc = submit_plan(&w, &plan, nrest, rest, e);
    run_plan_destroy(&plan);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_submit = {
    .name = "submit",
    .args = "[-- SBATCH OPTIONS]",
    .summary = "submit the runs of a study, each exactly once",
    .details =
        "Generates missing files, splits the data once (STUDY/split.json), and submits every run\n"
        "that was not submitted before. It may be interrupted and repeated at any time. With\n"
        "--wait, exit 0 only if all runs are done, 1 if some ended without a result, 130 on\n"
        "Ctrl-C, 6 on --timeout.\n"
        "If a limit of the account or QOS (such as AssocMaxSubmitJobLimit) has room for only some\n"
        "runs, those are submitted, the limit is named, and the rest is left for later (exit 4):\n"
        "repeat the command, or let --wait or 'unetctl watch' submit the rest as other jobs end.\n"
        "Runs are submitted seed by seed, each time with the GPU counts in a random order that depends\n"
        "on the study alone, so that a machine that becomes slower meanwhile slows all counts.\n"
        "--parsable prints, like sbatch, job ids: line K is that of run K of 'unetctl plan',\n"
        "empty if it never had a job.\n"
        "--one-allocation submits one job with the nodes of the largest run; it starts the\n"
        "largest run that fits first, and --time holds for all. Runs without a turn are SKIPPED;\n"
        "'unetctl resume' submits them.\n"
        "Example: unetctl submit --gpus 1..14 --wait -- --partition=gpu --time=2:00:00\n",
    .options = options,
    .run = cmd_submit_run,
};
