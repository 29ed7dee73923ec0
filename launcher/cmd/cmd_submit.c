/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/plan/cost.h"
#include "launcher/rounds/left.h"
#include "launcher/rounds/rounds.h"
#include "launcher/status/watch.h"
#include "launcher/submit/submission.h"

static struct given {
    struct plan_args args;
    bool wait_for_all, dry_run, parsable, until_decided, once, count_failed;
    long timeout_s;
    double max_gpu_hours;
} given;

static const struct cli_option options[] = {
    WORKSPACE_OPTIONS_PLAN(given.args),
    WORKSPACE_OPTION_VARY(given.args),
    WORKSPACE_OPTION_SCHEDULER(given.args),
    WORKSPACE_OPTION_TEMPLATES(given.args),
    {"wait", 'w', CLI_FLAG, NULL, "watch the runs until all have ended", &given.wait_for_all, 0, 0},
    {"timeout", 0, CLI_INT, "SECONDS",
     "stop waiting after this time (exit 6); the jobs continue", &given.timeout_s, 1, 1e9},
    RUN_COST_OPTION(given.max_gpu_hours),
    {"until-decided", 0, CLI_FLAG, NULL, "submit rounds of runs until the verdict is decided",
     &given.until_decided, 0, 0},
    {"no-wait", 0, CLI_FLAG, NULL,
     "with --until-decided: submit the round that is due, and return", &given.once, 0, 0},
    {"count-failed", 0, CLI_FLAG, NULL,
     "with --until-decided: count runs without a result as failed", &given.count_failed, 0, 0},
    {"parsable", 0, CLI_FLAG, NULL, "print the job id of each run, one per line, in plan order",
     &given.parsable, 0, 0},
    DRY_RUN_OPTION(given.dry_run),
    WORKSPACE_OPTION_MAX_IN_FLIGHT(given.args),
    WORKSPACE_OPTION_ONE_ALLOCATION(given.args),
    WORKSPACE_OPTION_TAKE_OVER(given.args),
    WORKSPACE_OPTION_AFTER(given.args),
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

/* What is submitted: a plan, or rounds, and what left.json says of it. */
struct submitted {
    struct workspace *w;
    struct plan plan;
    struct rounds rounds;
    json_t *self;
    bool repeats; /* what an earlier process has noted */
};

/* From now on the submission ends when its note is gone, which `cancel` may remove. */
static void need_note(struct submitted *s)
{
    s->w->is_wanted = left_is_noted;
    s->w->is_wanted_arg = s->self;
}

static long submit_left(void *arg, struct err *e)
{
    struct submitted *s = arg;
    struct submission_counts counts;

    need_note(s);
    if (submission_submit(s->w, &s->plan, &counts, e) ||
        (counts.left == 0 && left_note(s->w, s->self, false, e)))
        return -1;
    return (long)counts.left;
}

static int watch_plan(struct submitted *s, bool any_left, struct err *e)
{
    const struct plan *plan = &s->plan;
    struct watch_options watch = {.nids = plan->count,
                                  .timeout_s = given.timeout_s,
                                  .submit_left = any_left ? submit_left : NULL,
                                  .arg = s};
    int rc;

    watch.ids = calloc(plan->count, sizeof *watch.ids);
    if (!watch.ids)
        return err_errno(e, ERR_INTERNAL, errno, "submit");
    for (size_t i = 0; i < plan->count; i++)
        watch.ids[i] = plan->runs[i].id;
    rc = watch_runs(s->w, &watch, e);
    free(watch.ids);
    return rc;
}

/* Prints a line for each run of the plan, also of those submitted earlier: the id of its last job,
 * or nothing if it never had one. */
static void print_ids(const struct workspace *w, const struct plan *plan)
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
        if (o->dst != &given.wait_for_all && o->dst != &given.timeout_s &&
            o->dst != &given.parsable && o->dst != &given.once)
            add_words(words, o);
    if (given.until_decided)
        json_array_append_new(words, json_string("--no-wait"));
    json_array_append_new(words, json_string("--"));
    for (int i = 0; i < nrest; i++)
        json_array_append_new(words, json_string(rest[i]));
    return words;
}

/* Says what became of the runs. Returns -1 if some are left and nothing submits them later. */
static int report_counts(const struct submitted *s, const struct submission_counts *c, bool dry,
                         struct err *e)
{
    log_info("%zu run%s %ssubmitted; before: %zu active, %zu done, %zu without a result",
             c->submitted, plural(c->submitted), dry ? "would be " : "", c->active, c->good,
             c->bad);
    if (c->others)
        log_info("%zu run%s left alone, as said above", c->others,
                 c->others == 1 ? " is" : "s are");
    if (c->left && !given.wait_for_all && !s->repeats)
        return err_set(e, ERR_SCHED, "%zu run%s left for later: %s ('unetctl watch' submits them "
                       "as other jobs end, or type 'unetctl submit' again then)", c->left,
                       c->left == 1 ? " is" : "s are", c->limit.text);
    if (c->left)
        log_info("%zu run%s will be submitted as other jobs end: %s", c->left, plural(c->left),
                 c->limit.text);
    return 0;
}

static int submit_plan(struct submitted *s, int nrest, char **rest, struct err *e)
{
    struct workspace *w = s->w;
    struct submission_counts counts;
    bool dry;

    if (submission_check_cost(&s->plan, true, given.max_gpu_hours, e))
        return err_prefix(e, "nothing was submitted");
    if (given.dry_run)
        return dry_run_print(&s->plan, e);
    if (s->repeats)
        need_note(s);
    if (submission_submit(w, &s->plan, &counts, e))
        return -1;
    dry = strcmp(w->plan.scheduler, "dry") == 0;
    if (!dry && !counts.unwanted && left_note(w, s->self, counts.left > 0, e))
        return -1;
    if (given.parsable)
        print_ids(w, &s->plan);
    submission_warn_unreached(&given.args, nrest, rest, counts.active);
    if (report_counts(s, &counts, dry, e))
        return -1;
    return given.wait_for_all && !dry ? watch_plan(s, counts.left > 0, e) : 0;
}

/* ---- rounds ---- */

static long step(void *arg, struct err *e)
{
    struct submitted *s = arg;

    if (!s->repeats && left_note(s->w, s->self, true, e))
        return -1;
    s->repeats = true;
    need_note(s);
    long left = rounds_step(&s->rounds, e);
    return left == 0 && left_note(s->w, s->self, false, e) ? -1 : left;
}

int cmd_submit_end_rounds(const struct workspace *w, int rc, bool prints, struct err *e)
{
    struct rounds_record r;
    struct err unreported;
    char text[ROUNDS_FILE_TEXT];

    if (rounds_file_read(&w->ledger, &r, rc < 0 ? &unreported : e))
        return -1;
    enum design_state state = r.verdict.state;
    rounds_file_destroy(&r);
    if (!rounds_file_describe(&w->ledger, text))
        return rc;
    if (prints) {
        printf("%s\n", text);
        if (cmd_report.run(1, (char *[]){w->plan.study.dir}, 0, NULL, &unreported))
            log_info("%s", unreported.text);
        fflush(stdout);
    }
    if (rc < 0 || (rc && state == DESIGN_CONTINUE))
        return rc;
    if (state == DESIGN_CONTINUE)
        return err_set(e, ERR_STATS, "no verdict yet: %s; type 'unetctl submit --until-decided', "
                       "which continues", text);
    return state == DESIGN_DECIDED ? 0
                                   : err_set(e, state == DESIGN_FAILED ? ERR_INTERNAL : ERR_STATS,
                                             "no verdict: %s", text);
}

static int show_round(struct rounds *r, struct err *e)
{
    struct plan plan;

    if (rounds_plan(r, &plan, e))
        return -1;
    const struct design_round *round = &r->record.rounds[r->record.count - 1];
    log_info("round %zu (about %.3g GPU-hours): %s", r->record.count, round->gpu_hours,
             round->reason);
    int rc = dry_run_print(&plan, e);
    plan_free_runs(&plan);
    return rc;
}

static int submit_rounds(struct submitted *s, struct err *e)
{
    struct workspace *w = s->w;
    struct rounds *rounds = &s->rounds;
    struct watch_options watch = {.timeout_s = given.timeout_s,
                                  .submit_left = step,
                                  .arg = s,
                                  .in_rounds = true};
    int rc;

    if (given.parsable)
        return err_set(e, ERR_USAGE, "submit: --parsable lists the runs of a plan, which "
                       "--until-decided does not have");
    if (rounds_open(rounds, w, given.max_gpu_hours, e))
        return -1;
    rounds->count_failed = given.count_failed;
    if (given.dry_run)
        rc = show_round(rounds, e);
    else if (given.once)
        rc = step(s, e) < 0 ? -1 : 0;
    else if (rounds->record.verdict.state == DESIGN_CONTINUE)
        rc = cmd_submit_end_rounds(w, watch_runs(w, &watch, e), true, e);
    else
        rc = cmd_submit_end_rounds(w, 0, true, e);
    rounds_close(rounds);
    return rc;
}

static int submit(struct submitted *s, int nrest, char **rest, struct err *e)
{
    int rc = -1;

    if (given.until_decided)
        rc = submit_rounds(s, e);
    else if ((given.timeout_s && !given.wait_for_all) || given.once || given.count_failed)
        err_set(e, ERR_USAGE, "submit: --%s", given.once ? "no-wait needs --until-decided"
                              : given.count_failed       ? "count-failed needs --until-decided"
                                                         : "timeout needs --wait");
    else if (workspace_plan(s->w, &s->plan, e) == 0)
        rc = submit_plan(s, nrest, rest, e);
    plan_free_runs(&s->plan);
    return rc;
}

static int cmd_submit_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct workspace w;
    struct submitted s = {.w = &w};

    if (workspace_open_jobs(&w, &given.args, nrest, rest, e))
        return -1;
    given.until_decided |= w.plan.study.design.max_gpu_hours > 0;
    s.self = left_create(encode_words(nrest, rest), given.until_decided);
    int rc = submit(&s, nrest, rest, e);
    json_decref(s.self);
    workspace_close(&w);
    return rc;
}

int cmd_submit_again(json_t *submission, struct err *e)
{
    const json_t *words = json_object_get(submission, "words");
    size_t count = json_array_size(words);
    char **argv = mem_zero(count + 1, sizeof *argv, e), **rest;
    struct workspace w;
    struct submitted s = {.w = &w, .self = submission, .repeats = true};
    int nrest, noperands, rc = -1;

    enum log_level before = log_set_level(LOG_QUIET); /* watch says what changes */
    given = (struct given){0};
    for (size_t i = 0; argv && i < count; i++)
        argv[i] = (char *)(uintptr_t)json_string_value(json_array_get(words, i));
    if (argv &&
        cli_decode(&cmd_submit, NULL, (int)count, argv, &noperands, &nrest, &rest, e) == 0 &&
        workspace_open_jobs(&w, &given.args, nrest, rest, e) == 0) {
        given.until_decided |= w.plan.study.design.max_gpu_hours > 0;
        rc = submit(&s, nrest, rest, e);
        workspace_close(&w);
    }
    log_set_level(before);
    free(argv);
    return rc;
}

const struct cli_command cmd_submit = {
    .name = "submit",
    .args = "[-- SBATCH OPTIONS]",
    .summary = "submit the runs of a study, each exactly once",
    .details =
        "Generates missing files, splits the data once (STUDY/split.json), and submits every run that\n"
        "was not submitted before. It may be interrupted and repeated at any time. With --wait, exit 0\n"
        "only if all runs are done, 1 if some have no result, 130 on Ctrl-C, 6 on --timeout.\n"
        "If a limit of the account or QOS (such as AssocMaxSubmitJobLimit) has room for only some\n"
        "runs, those are submitted, the limit is named, and the rest is left for later (exit 4):\n"
        "repeat the command, or let --wait or 'unetctl watch' submit the rest as other jobs end.\n"
        "Runs are submitted seed by seed, each time with the GPU counts in a random order that depends\n"
        "on the study alone, so that a machine that becomes slower meanwhile slows all counts.\n"
        "--scheduler local: a process in the background runs the jobs in turn, after earlier ones, also\n"
        "when you log out. If it is killed, 'unetctl resume' runs those that are left.\n"
        "--parsable prints, like sbatch, job ids: line K is that of run K of 'unetctl plan',\n"
        "empty if it never had a job.\n"
        "--until-decided submits short runs until the speed is known, then whole runs until quality\n"
        "is shown to hold or to fall, within --max-gpu-hours as expected, and ends with the report.\n"
        "The same command, or 'unetctl watch', continues after any interruption. Exit 0 if the\n"
        "verdict is decided, 8 if it cannot be, 3 if the first round exceeds the limit or the script\n"
        "changed, 1 or 7 if runs have no result, 130 and 6 as with --wait; what was learnt is printed.\n"
        "--one-allocation: one job with the nodes of the largest run starts the largest that fits first;\n"
        "--time holds for all, each round is such a job, and 'unetctl resume' submits the SKIPPED.\n"
        "Example: unetctl submit --gpus 1..14 --wait -- --partition=gpu --time=2:00:00\n",
    .options = options,
    .run = cmd_submit_run,
};
