/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include <math.h>
#include <time.h>

#include "launcher/analysis/analysis.h"
#include "launcher/analysis/design/design.h"
#include "launcher/host/jsonio.h"
#include "launcher/rounds/rounds.h"
#include "launcher/rounds/sources.h"
#include "launcher/scheduler/scheduler.h"
#include "launcher/status/watch.h"
#include "launcher/submit/attempt.h"
#include "launcher/plan/cost.h"

static struct {
    struct plan_args args;
    bool as_json, test_only, until_decided;
    double max_gpu_hours, request;
    const char *until, *since;
} given;

static const struct cli_option options[] = {
    WORKSPACE_OPTIONS_PLAN(given.args),
    WORKSPACE_OPTION_VARY(given.args),
    WORKSPACE_OPTION_SCHEDULER(given.args),
    {"test-only", 0, CLI_FLAG, NULL, "ask the scheduler when and where each run would start",
     &given.test_only, 0, 0},
    RUN_COST_OPTION(given.max_gpu_hours),
    {"until-decided", 0, CLI_FLAG, NULL,
     "show the first round of 'submit --until-decided', and what all rounds are expected to cost",
     &given.until_decided, 0, 0},
    {"request", 0, CLI_DOUBLE, "HOURS",
     "say what so many GPU-hours give, and what the account has used of them", &given.request, 0,
     1e12},
    {"until", 0, CLI_STRING, "DATE", "--request: the account has them until this day (YYYY-MM-DD)",
     &given.until, 0, 0},
    {"since", 0, CLI_STRING, "DATE", "--request: and since this day (default: a year before)",
     &given.since, 0, 0},
    WORKSPACE_OPTION_ONE_ALLOCATION(given.args),
    {"json", 0, CLI_FLAG, NULL, "print JSON instead of a table", &given.as_json, 0, 0},
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

/* What some runs cost. */
struct plan_cost {
    size_t runs, nmeasured; /* nmeasured: of them, those whose time is known */
    double hours, measured_hours;
    int64_t disk; /* bytes of one of them */
};

struct plan_forecast {
    struct plan plan;
    struct plan_advice advice;
    double *measured; /* of each run, in seconds (measured_collect) */
    struct scheduler_forecast *starts; /* of each run; NULL for one job, or without --test-only */
    struct allocation allocation;      /* the one job of all runs, with --one-allocation */
    struct scheduler_forecast start;   /* of the allocation */
    struct plan_cost total;
    struct plan_cost variants[VARIANTS_MAX]; /* of each variant */
    struct rounds rounds;    /* with --until-decided, whose newest or first round the plan is, */
    struct design_cost cost; /* and the cost of all, */
    double whole_s;          /* if a whole run of the base case takes so long, */
    const char *whole_why;   /* which is known from that */
    /* bytes on disk: of all runs, of the cache that they share, of data.stage on each node */
    int64_t disk, cache, stage;
};

static struct plan_cost *cost_of(const struct plan *p, struct plan_forecast *f,
                                 const struct run *run)
{
    for (size_t v = 0; v < p->nvariants; v++)
        if (run->study == &p->variants[v].study)
            return &f->variants[v];
    return &f->total;
}

static void format_start(time_t start, char dst[32])
{
    struct tm tm;

    strcpy(dst, "-");
    if (start && gmtime_r(&start, &tm))
        strftime(dst, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static void set_start(json_t *o, const struct scheduler_forecast *f)
{
    char start[32];

    format_start(f->start, start);
    json_object_set_new(o, "start", f->start ? json_string(start) : json_null());
    json_object_set_new(o, "nodelist", json_string(f->nodes));
}

static json_t *encode_run(const struct plan *p, struct plan_forecast *f, size_t i)
{
    const struct run *run = &f->plan.runs[i];
    const struct layout *l = &run->layout;
    json_t *o = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:f, s:I}", "run", run->id,
                          "seed", run->seed, "gpus", l->gpus, "nodes", l->nodes, "tasks", l->tasks,
                          "tasks_per_node", l->tasks_per_node, "gpus_per_task", l->gpus_per_task,
                          "strategy", layout_strategy_encode(l->strategy), "gpu_hours",
                          run_cost_gpu_hours(p, run), "disk_bytes",
                          (json_int_t)cost_of(p, f, run)->disk);

    if (f->measured[i] > 0)
        json_object_set_new(o, "measured_s", json_real(f->measured[i]));
    if (f->starts)
        set_start(o, &f->starts[i]);
    return o;
}

static json_t *encode_allocation(const struct plan_forecast *f)
{
    const struct job *job = &f->allocation.job.job;
    json_t *o = json_pack("{s:i, s:i, s:f}", "nodes", job->nodes, "gpus", job->tasks, "gpu_hours",
                          f->total.hours);

    if (given.test_only)
        set_start(o, &f->start);
    return o;
}

static void print_hours(const char *before, double hours)
{
    if (hours > 0)
        printf("%s%.*f GPU-hours", before, run_cost_decimals(hours), hours);
}

static json_t *encode_cost(const struct plan_forecast *f)
{
    const struct design_cost *c = &f->cost;

    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:s}", "median", c->median, "most", c->most,
                     "decided", c->decided, "rounds", c->rounds, "whole_s", f->whole_s, "whole_why",
                     f->whole_why);
}

static void print_cost(const struct plan_forecast *f)
{
    const struct design_cost *c = &f->cost;
    const struct design *d = &f->rounds.design;
    char whole[32];

    run_summary_format_time(f->whole_s, whole);
    printf("until decided: about %.3g GPU-hours in %.0f rounds (median), and in 90 %% of %d simulated "
           "studies at most %.3g, if a whole run on %d GPU%s takes %s (%s), times scatter by %.0f %% "
           "and quality is unchanged\n", c->median, c->rounds, DESIGN_EXPECT_STUDIES, c->most,
           d->counts[0], plural(d->counts[0]), whole, f->whole_why, 100 * DECISION_TIME_SCATTER);
    if (isfinite(d->max_gpu_hours))
        printf("%.0f %% of them decide within %g GPU-hours\n", 100 * c->decided, d->max_gpu_hours);
}

static void print_allocation(const struct plan_forecast *f)
{
    const struct job *job = &f->allocation.job.job;
    char start[32];

    printf("one job of %d node%s and %d GPU%s runs all, as many side by side as fit", job->nodes,
           plural(job->nodes), job->tasks, plural(job->tasks));
    print_hours(": at most ", f->total.hours);
    if (given.test_only) {
        format_start(f->start.start, start);
        printf("; starts %s on %s", start, *f->start.nodes ? f->start.nodes : "-");
    }
    printf("\n");
}

static json_t *encode_variants(const struct plan *p, const struct plan_forecast *f)
{
    json_t *variants = json_array();

    for (size_t v = 0; v < p->nvariants; v++) {
        const struct plan_cost *c = &f->variants[v];
        json_array_append_new(variants, json_pack("{s:s, s:I, s:f, s:I, s:f}", "name",
                                                  p->variants[v].name, "runs",
                                                  (json_int_t)c->runs, "gpu_hours", c->hours,
                                                  "measured_runs", (json_int_t)c->nmeasured,
                                                  "measured_gpu_hours", c->measured_hours));
    }
    return variants;
}

static int print_plan_json(const struct plan *p, struct plan_forecast *f, struct err *e)
{
    json_t *runs = json_array(), *warnings = json_array(), *root;

    for (size_t i = 0; i < f->plan.count; i++)
        json_array_append_new(runs, encode_run(p, f, i));
    for (size_t i = 0; i < f->advice.count; i++)
        json_array_append_new(warnings, json_string(f->advice.text[i]));
    root = json_pack("{s:i, s:s, s:s, s:s, s:s, s:i, s:f, s:I, s:o, s:o}", "schema", 1, "study",
                     p->study.name, "engine", p->study.engine, "site", p->site.name, "scheduler",
                     p->scheduler, "time_min", p->options.time_min, "gpu_hours", f->total.hours,
                     "disk_bytes", (json_int_t)f->disk, "warnings", warnings, "runs", runs);
    if (root && study_has_images(&p->study)) {
        json_object_set_new(root, "train_images", json_integer(f->advice.train));
        json_object_set_new(root, "val_images", json_integer(f->advice.val));
        json_object_set_new(root, "cache_bytes", json_integer(f->cache));
        json_object_set_new(root, "stage_bytes", json_integer(f->stage));
    }
    if (root && f->advice.model.parameters)
        json_object_set_new(root, "parameters", json_integer(f->advice.model.parameters));
    if (root && *f->advice.compute.text) {
        json_object_set_new(root, "backend", json_string(f->advice.compute.backend));
        json_object_set_new(root, "computes_on", json_string(f->advice.compute.text));
    }
    if (root && p->nvariants)
        json_object_set_new(root, "variants", encode_variants(p, f));
    if (root && given.until_decided)
        json_object_set_new(root, "until_decided", encode_cost(f));
    if (root && p->one_allocation)
        json_object_set_new(root, "allocation", encode_allocation(f));
    return jsonio_print(root, 6, "the plan", e);
}

static int id_width(const struct plan *plan)
{
    size_t width = 16;

    for (size_t i = 0; i < plan->count; i++)
        if (strlen(plan->runs[i].id) > width)
            width = strlen(plan->runs[i].id);
    return (int)width;
}

static void print_run(const struct plan *p, struct plan_forecast *f, size_t i)
{
    const struct run *run = &f->plan.runs[i];
    const struct layout *l = &run->layout;
    char hours[32] = "-", start[32];
    long s = (long)(f->measured[i] + 0.5);

    if (p->options.time_min)
        snprintf(hours, sizeof hours, "%.*f",
                 run_cost_decimals(run_cost_gpu_hours(p, run)), run_cost_gpu_hours(p, run));
    printf("%-*s %5d %5d %5d %-12s %9s %9.1f", id_width(&f->plan), run->id, l->gpus, l->nodes,
           l->tasks, layout_strategy_encode(l->strategy), hours,
           (double)cost_of(p, f, run)->disk / 1048576);
    if (f->measured[i] > 0)
        printf(" %3ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else if (f->total.nmeasured)
        printf(" %9s", "-");
    if (f->starts) {
        format_start(f->starts[i].start, start);
        printf(" %-20s %s", start, *f->starts[i].nodes ? f->starts[i].nodes : "-");
    }
    printf("\n");
}

static void print_variants(const struct plan *p, const struct plan_forecast *f)
{
    for (size_t v = 0; v < p->nvariants; v++) {
        const struct plan_cost *c = &f->variants[v];
        printf("variant %s: %zu run%s", p->variants[v].name, c->runs, plural((long)c->runs));
        print_hours(", at most ", c->hours);
        if (c->nmeasured)
            printf(", %zu of them measured", c->nmeasured);
        print_hours(": ", c->measured_hours);
        printf("\n");
    }
}

static void print_table(const struct plan *p, struct plan_forecast *f)
{
    size_t count = f->plan.count;

    printf("%-*s %5s %5s %5s %-12s %9s %9s%s%s\n", id_width(&f->plan), "RUN", "GPUS",
           "NODES", "TASKS", "STRATEGY", "GPU-HOURS", "DISK(MiB)", f->total.nmeasured ? "  MEASURED" : "",
           f->starts ? " START                NODELIST" : "");
    for (size_t i = 0; i < count; i++)
        print_run(p, f, i);
    printf("%zu run%s on site %s (%s)", count, plural(count), p->site.name, p->scheduler);
    if (p->options.time_min && !p->one_allocation)
        printf(", at most %.*f GPU-hours at %d:%02d h each", run_cost_decimals(f->total.hours),
               f->total.hours, p->options.time_min / 60, p->options.time_min % 60);
    printf(", %.1f MiB on disk", (double)f->disk / 1048576);
    if (f->cache)
        printf(" and %.1f MiB of decoded images", (double)f->cache / 1048576);
    if (f->stage)
        printf(", %.1f MiB in %s of each node", (double)f->stage / 1048576, p->study.data.stage);
    printf("\n");
    if (f->total.nmeasured)
        printf("measured by runs that are done: %zu of these runs train for %.*f GPU-hours\n",
               f->total.nmeasured, run_cost_decimals(f->total.measured_hours),
               f->total.measured_hours);
    print_variants(p, f);
    if (p->one_allocation)
        print_allocation(f);
    if (given.until_decided)
        print_cost(f);
    if (f->advice.train)
        printf("%s%ld training and %ld validation images, %.2f million parameters\n",
               f->advice.exact ? "" : "about ", f->advice.train, f->advice.val,
               (double)f->advice.model.parameters / 1e6);
    if (*f->advice.compute.text)
        printf("the runs compute on %s\n", f->advice.compute.text);
    for (size_t i = 0; i < f->advice.count; i++)
        log_warn("%s", f->advice.text[i]);
}

static int ask_scheduler(struct workspace *w, struct plan_forecast *f, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, workspace_kind(w), e);
    struct attempt_job job;

    if (scheduler && w->plan.one_allocation) {
        f->allocation.job.job.script = NULL; /* nothing was generated */
        return scheduler_forecast(scheduler, &f->allocation.job.job, &f->start, e)
                   ? err_prefix(e, "one allocation for all")
                   : 0;
    }
    f->starts = scheduler ? calloc(f->plan.count, sizeof *f->starts) : NULL;
    if (!f->starts)
        return scheduler ? err_errno(e, ERR_INTERNAL, errno, "plan") : -1;
    for (size_t i = 0; i < f->plan.count; i++) {
        if (attempt_job(&w->plan, &f->plan.runs[i], 1, &job, e))
            return -1;
        job.job.script = NULL; /* nothing was generated */
        if (scheduler_forecast(scheduler, &job.job, &f->starts[i], e))
            return err_prefix(e, "%s (%d GPU%s)", f->plan.runs[i].id,
                              f->plan.runs[i].layout.gpus, plural(f->plan.runs[i].layout.gpus));
    }
    return 0;
}

static void add_cost(struct plan_cost *c, const struct plan *p, const struct run *run,
                     double measured_s)
{
    c->runs++;
    c->nmeasured += measured_s > 0;
    c->hours += run_cost_gpu_hours(p, run);
    c->measured_hours += run->layout.gpus * measured_s / 3600;
}

/* Sets the bytes that runs write, which differ between variants of other networks. */
static void measure_disk(const struct plan *p, struct plan_forecast *f)
{
    struct model_look model = f->advice.model;
    struct err ignored;

    f->total.disk = run_cost_disk(&p->study, &model, p->options.time_min);
    for (size_t v = 0; v < p->nvariants; v++) {
        const struct study *s = &p->variants[v].study;
        if (study_runs_trainer(s))
            (void)model_look_open(s, false, false, &model, &ignored);
        f->variants[v].disk = run_cost_disk(s, &model, p->options.time_min);
    }
    for (size_t i = 0; i < f->plan.count; i++)
        f->disk += cost_of(p, f, &f->plan.runs[i])->disk;
}

/* Finds the times that are known, and warns if the time limit is below one of them. */
static int measure_runs(const struct plan *p, struct plan_forecast *f, struct err *e)
{
    bool is_reported = !p->options.time_min;

    f->measured = calloc(f->plan.count + 1, sizeof *f->measured);
    if (!f->measured)
        return err_errno(e, ERR_INTERNAL, errno, "plan");
    if (measured_collect(&f->plan, f->measured, e))
        return -1;
    for (size_t i = 0; i < f->plan.count; i++) {
        const struct run *run = &f->plan.runs[i];
        add_cost(&f->total, p, run, f->measured[i]);
        if (cost_of(p, f, run) != &f->total)
            add_cost(cost_of(p, f, run), p, run, f->measured[i]);
        if (is_reported || f->measured[i] <= p->options.time_min * 60.0 ||
            f->advice.count == PLAN_ADVICE_MAX)
            continue;
        snprintf(f->advice.text[f->advice.count++], sizeof *f->advice.text, "the time limit (%d "
                 "min) is shorter than the training with %d GPU%s took (%.0f min): such a run "
                 "stops with a checkpoint and must resume (slurm.time)", p->options.time_min,
                 run->layout.gpus, plural(run->layout.gpus), f->measured[i] / 60);
        is_reported = true;
    }
    return 0;
}

/* Plans the newest or the first round, and simulates all. */
static int plan_rounds(struct workspace *w, struct plan_forecast *f, struct err *e)
{
    struct plan base;
    double seconds = 0;
    char gpus[16];

    if (rounds_check_variants(&w->plan, e) || rounds_read(&f->rounds, w, given.max_gpu_hours, e))
        return -1;
    struct design d = f->rounds.design;
    snprintf(gpus, sizeof gpus, "%d", d.counts[0]);
    if (plan_compute(&w->plan, gpus, 1, &base, e))
        return -1;
    int rc = measured_collect(&base, &seconds, e);
    plan_free_runs(&base);
    f->whole_why = seconds > 0 ? "as measured" : d.whole_s > 0 ? "its time limit" : "assumed";
    f->whole_s = d.whole_s = seconds > 0 ? seconds : d.whole_s > 0 ? d.whole_s : 3600;
    return rc || design_expect(&d, &f->cost, e) ? -1 : rounds_plan(&f->rounds, &f->plan, e);
}

/* ---- a grant ---- */

static int decode_day(const char *option, const char *text, time_t *dst, struct err *e)
{
    struct tm tm = {.tm_isdst = -1};
    const char *end = text ? strptime(text, "%Y-%m-%d", &tm) : NULL;
    int day = tm.tm_mday;

    *dst = end && !*end ? mktime(&tm) : -1;
    return *dst >= 0 && tm.tm_mday == day /* it is another one of February 30 */
               ? 0
               : err_set(e, ERR_USAGE, "plan: --request: --%s %s must be a day, such as 2027-03-31",
                         option, text ? text : "DATE");
}

static const char *format_day(time_t day, char dst[32])
{
    struct tm tm;

    return localtime_r(&day, &tm) && strftime(dst, 32, "%Y-%m-%d", &tm) ? dst : "?";
}

/* Prints what the GPU-hours give on the number of GPUs that the report chooses, or on each that has
 * whole runs. */
static int print_gain(const struct workspace *w, struct err *e)
{
    struct sources in = SOURCES_INIT;
    struct analysis_options o = ANALYSIS_OPTIONS_INIT;
    struct analysis a = {.nseries = 0};
    int rc = sources_add_study(&in, w->plan.study.dir, e);

    sources_apply(&in, &o);
    rc = rc ? rc : analysis_create(&a, in.list, in.count, &o, e);
    for (size_t i = 0; rc == 0 && i < a.nseries; i++) {
        const struct decision *d = &a.series[i].decision;
        const struct series *s = &a.series[i].series;
        for (const struct series_point *p = s->points; p < s->points + s->npoints; p++)
            if (p->gpu_hours > 0 && (!d->decided || p == d->use))
                printf("%g GPU-hours: %.0f whole runs on %d GPU%s, %.3g GPU-hours each, %s\n",
                       given.request, floor(given.request / p->gpu_hours), p->gpus,
                       plural(p->gpus), p->gpu_hours,
                       d->decided ? "the number that the report chooses" : "undecided");
    }
    if (rc == 0)
        analysis_destroy(&a);
    sources_destroy(&in);
    return rc;
}

/* Prints what is used and left, and when it will be used up at the pace of the last days. */
static void print_pace(const char *account, const struct scheduler_usage *u, time_t since,
                       time_t until)
{
    time_t now = time(NULL);
    double left = given.request - u->gpu_hours, rest = difftime(until, now) / 86400;
    double days = fmin(fmax(difftime(now, since) / 86400, 0.01), SCHEDULER_RECENT_DAYS);
    double pace = u->recent_gpu_hours / days;
    char day[32];

    printf("From %s", format_day(since, day));
    printf(" to %s %zu job%s of account %s used %.4g of %g GPU-hours (%.0f %%), as far as Slurm "
           "shows them; %zu completed.\n", format_day(now, day), u->jobs, plural((long)u->jobs),
           account, u->gpu_hours, given.request, 100 * u->gpu_hours / given.request, u->completed);
    format_day(until, day);
    if (u->jobs && !(u->gpu_hours > 0))
        printf("Slurm counts no GPUs of these jobs, so this may be wrong: they had none, or "
               "AccountingStorageTRES in slurm.conf lacks gres/gpu.\n");
    else if (left <= 0)
        printf("Nothing is left.\n");
    else if (rest <= 0)
        printf("%.4g GPU-hours were left on %s.\n", left, day);
    else {
        printf("%.4g GPU-hours are left until %s: %.3g a day. At the pace of the last %.2g days, "
               "%.3g a day, ", left, day, left / rest, days, pace);
        if (left / pace < rest)
            printf("they end on %s.\n", format_day(now + (time_t)(left / pace * 86400), day));
        else
            printf("%.4g of them will be left then.\n", left - pace * rest);
    }
}

/* Prints what a grant gives, and the use of it so far. */
static int print_grant(struct workspace *w, struct err *e)
{
    const char *account = w->plan.options.account;
    struct scheduler_usage usage;
    struct scheduler *scheduler;
    time_t until, since, today = time(NULL);

    if (decode_day("until", given.until, &until, e))
        return -1;
    since = until - 365 * 86400;
    if (given.since && decode_day("since", given.since, &since, e))
        return -1;
    if (since >= until || since > today)
        return err_set(e, ERR_USAGE, "plan: --since %s must be before --until and not after today",
                       given.since ? given.since : "(a year before --until)");
    if (print_gain(w, e))
        log_warn("%s", e->text); /* nothing has run yet */
    if (!account || !*account)
        return err_set(e, ERR_CONFIG, "plan: --request: whose hours? set slurm.account in %s",
                       w->plan.study.file);
    scheduler = workspace_scheduler(w, workspace_kind(w), e);
    if (!scheduler || scheduler_account_usage(scheduler, account, since, &usage, e))
        return -1;
    print_pace(account, &usage, since, until);
    return 0;
}

static int plan_study(struct workspace *w, struct plan_forecast *f, struct err *e)
{
    int rc;

    if (given.until_decided ? plan_rounds(w, f, e) : workspace_plan(w, &f->plan, e))
        return -1;
    if ((!study_runs_trainer(&w->plan.study) || *w->plan.study.container) &&
        attempt_check(&w->plan, f->plan.runs, e))
        return -1;
    plan_advice_collect(&f->plan, &f->advice);
    if (measure_runs(&w->plan, f, e))
        return -1;
    if (w->plan.one_allocation) {
        if (allocation_describe(&w->plan, &f->plan.runs[f->plan.count - 1], &f->allocation, e))
            return -1;
        f->total.hours = allocation_gpu_hours(&f->allocation, w->plan.options.time_min);
    }
    measure_disk(&w->plan, f);
    f->cache = run_cost_cache(&w->plan.study, &f->plan, f->advice.pixels);
    f->stage = run_cost_stage(&w->plan.study);
    if (given.test_only && ask_scheduler(w, f, e))
        return -1;
    rc = given.as_json ? print_plan_json(&w->plan, f, e) : 0;
    if (!given.as_json)
        print_table(&w->plan, f);
    fflush(stdout);
    if (rc == 0 && given.max_gpu_hours > 0 && !given.until_decided)
        rc = w->plan.one_allocation
                 ? run_cost_limit("the allocation", f->total.hours, w->plan.options.time_min,
                                  given.max_gpu_hours, "only", e)
                 : run_cost_check(&f->plan, true, given.max_gpu_hours, e);
    return rc;
}

static int cmd_plan_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct plan_forecast f = {.starts = NULL};
    struct workspace w;
    int rc;

    if (workspace_open_jobs(&w, &given.args, nrest, rest, e))
        return -1;
    given.until_decided |= w.plan.study.design.max_gpu_hours > 0;
    rc = given.request > 0 ? print_grant(&w, e)
         : given.until || given.since
             ? err_set(e, ERR_USAGE, "plan: --until and --since need --request HOURS, more than 0")
             : plan_study(&w, &f, e);
    free(f.starts);
    free(f.measured);
    plan_free_runs(&f.plan);
    if (f.rounds.w)
        rounds_close(&f.rounds);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_plan = {
    .name = "plan",
    .args = "[-- SBATCH OPTIONS]",
    .summary = "show the runs of a study and their maximum cost; submit nothing",
    .details =
        "Prints the layout of each run, its GPU-hours at most (time limit x GPUs), its disk space\n"
        "and, if runs of the study with as many GPUs are done, how long they trained. It\n"
        "warns of what is known beforehand: batches that the images do not fill, fewer validation\n"
        "images than ranks, no time limit, or one that is too short. --test-only asks the\n"
        "scheduler about each run on its own, with the present queue; a run that could never\n"
        "start, such as in a partition that does not exist, is refused (exit 4).\n"
        "--request HOURS --until DATE prints instead what so many GPU-hours give on the number of\n"
        "GPUs that the report chooses, and by sacct what the study's account has used, what is\n"
        "left, and when it ends at the pace of the last 30 days, as a final report asks for.\n"
        "Example: unetctl plan --gpus 1..14 --test-only --max-gpu-hours 400\n",
    .options = options,
    .run = cmd_plan_run,
};
