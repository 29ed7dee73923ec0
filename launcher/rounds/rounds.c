/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/rounds/rounds.h"

#include <math.h>

#include "launcher/analysis/series.h"
#include "launcher/collect/collect.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/submission.h"
#include "src/clock.h"
#include "src/cluster/range.h"

/* ---- rounds.json ---- */

#define ROUNDS_FILE "rounds.json"
#define FILE_MAX ((size_t)16 << 20)

void rounds_file_destroy(struct rounds_record *r)
{
    json_decref(r->design);
    free(r->rounds);
    *r = (struct rounds_record){0};
}

/* Appends a round with the current time. Returns 0, or -1. */
static int rounds_file_add(struct rounds_record *r, const struct design_round *round, struct err *e)
{
    if (mem_grow(&r->rounds, r->count, &r->capacity, sizeof *r->rounds, e))
        return -1;
    r->rounds[r->count] = *round;
    clock_date(r->rounds[r->count++].time);
    return 0;
}

static bool decode_round(const json_t *o, struct design_round *dst)
{
    const json_t *list = json_object_get(o, "runs"), *run;
    size_t i;

    *dst = (struct design_round){
        .tested = (int)jsonio_integer(o, "tested"),
        .repeats = json_is_true(json_object_get(o, "repeats")),
        .look = (size_t)jsonio_integer(o, "look"),
        .pairs = (size_t)jsonio_integer(o, "pairs"),
        .family = (size_t)jsonio_integer(o, "family"),
        .gpu_hours = json_number_value(json_object_get(o, "gpu_hours"))};
    snprintf(dst->reason, sizeof dst->reason, "%s", jsonio_text(o, "reason"));
    snprintf(dst->time, sizeof dst->time, "%s", jsonio_text(o, "time"));
    if (json_array_size(list) > sizeof dst->runs / sizeof *dst->runs)
        return false;
    json_array_foreach(list, i, run) {
        struct design_run *r = &dst->runs[dst->nruns++];
        *r = (struct design_run){(int)jsonio_integer(run, "gpus"),
                                 (long)jsonio_integer(run, "seed"),
                                 json_is_true(json_object_get(run, "limited")),
                                 json_number_value(json_object_get(run, "gpu_hours"))};
        if (r->gpus < 1 || r->seed < 1)
            return false;
    }
    return dst->nruns > 0;
}

static int decode(const json_t *o, const char *file, struct rounds_record *dst, struct err *e)
{
    struct design_outcome *v = &dst->verdict;
    const json_t *round;
    size_t i;
    int s = DESIGN_CONTINUE;

    while (s <= DESIGN_FAILED &&
           strcmp(jsonio_text(o, "state"), design_state_names[s]) != 0)
        s++;
    *v = (struct design_outcome){.state = (enum design_state)s,
                                 .gpus = (int)jsonio_integer(o, "gpus"),
                                 .gpu_hours = json_number_value(json_object_get(o, "gpu_hours"))};
    snprintf(v->why, sizeof v->why, "%s", jsonio_text(o, "why"));
    dst->design = json_incref(json_object_get(o, "design"));
    if (s > DESIGN_FAILED || !json_is_object(dst->design))
        return err_set(e, ERR_DATA, "%s: its state or design is not one that this version knows",
                       file);
    json_array_foreach(json_object_get(o, "rounds"), i, round) {
        if (mem_grow(&dst->rounds, dst->count, &dst->capacity, sizeof *dst->rounds, e))
            return -1;
        if (!decode_round(round, &dst->rounds[i]))
            return err_set(e, ERR_DATA, "%s: round %zu is not complete", file, i + 1);
        dst->count++;
    }
    return 0;
}

int rounds_file_read(const struct ledger *l, struct rounds_record *dst, struct err *e)
{
    char file[PATH_MAX];

    *dst = (struct rounds_record){0};
    if (!path_has_file(l->dir, ROUNDS_FILE))
        return 0;
    json_t *o = jsonio_read(path_format(file, "%s/" ROUNDS_FILE, l->dir), FILE_MAX, e);
    int rc = o ? decode(o, file, dst, e) : -1;
    json_decref(o);
    if (rc)
        rounds_file_destroy(dst);
    return rc;
}

static json_t *encode_round(const struct rounds_record *r, size_t i)
{
    const struct design_round *round = &r->rounds[i];
    json_t *runs = json_array();

    for (size_t k = 0; k < round->nruns; k++)
        json_array_append_new(runs, json_pack("{s:i, s:I, s:b, s:f}", "gpus", round->runs[k].gpus,
                                              "seed", (json_int_t)round->runs[k].seed, "limited",
                                              round->runs[k].limited, "gpu_hours",
                                              round->runs[k].gpu_hours));
    return json_pack("{s:i, s:s, s:s, s:b, s:i, s:i, s:i, s:i, s:f, s:o}", "number", (int)i + 1,
                     "time", round->time, "reason", round->reason, "repeats", round->repeats,
                     "tested", round->tested, "look", (int)round->look, "pairs",
                     (int)round->pairs, "family", (int)round->family, "gpu_hours",
                     round->gpu_hours, "runs", runs);
}

/* Replaces the file. Requires the ledger's lock. Returns 0, or -1. */
static int rounds_file_write(const struct ledger *l, const struct rounds_record *r, struct err *e)
{
    const struct design_outcome *v = &r->verdict;
    json_t *rounds = json_array();

    for (size_t i = 0; i < r->count; i++)
        json_array_append_new(rounds, encode_round(r, i));
    json_t *o = json_pack("{s:i, s:s, s:i, s:s, s:f, s:O, s:o}", "schema", 1, "state",
                          design_state_names[v->state], "gpus", v->gpus, "why", v->why, "gpu_hours",
                          v->gpu_hours, "design", r->design, "rounds", rounds);
    char *text = o ? json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(o);
    return path_write(l->dir, ROUNDS_FILE, text, e);
}

bool rounds_file_describe(const struct ledger *l, char dst[ROUNDS_FILE_TEXT])
{
    struct rounds_record r;
    struct err ignored;

    *dst = 0;
    if (rounds_file_read(l, &r, &ignored))
        return false;
    const struct design_outcome *v = &r.verdict;
    size_t n = r.count;
    if (n && v->state == DESIGN_CONTINUE)
        snprintf(dst, ROUNDS_FILE_TEXT, "round %zu (about %.3g GPU-hours): %s", n, r.rounds[n - 1].gpu_hours,
                 r.rounds[n - 1].reason);
    else if (n)
        snprintf(dst, ROUNDS_FILE_TEXT, "%s after %zu round%s and %.3g GPU-hours: %s",
                 design_state_names[v->state], n, plural((long)n), v->gpu_hours, v->why);
    rounds_file_destroy(&r);
    return n > 0;
}

/* ---- what the design depends on besides results ---- */

static const char *const paths[] = {
    "gpus",         "report.efficiency", "quality.name",  "quality.better", "quality.margin",
    "limit.steps",  "limit.minutes",     "design.max_gpu_hours"};
#define NPATHS (sizeof paths / sizeof *paths)
#define BUDGET (NPATHS - 1) /* the only one that may change */

static int set_value(struct study *s, const char *path, const char *text, struct err *e)
{
    return yaml_table_add_text(settings_of_study, path, text, YAML_COMMAND, "rounds.json",
                               &s->settings, &s->origins, e);
}

static int format_value(const struct study *s, const char *path, struct buf *dst, struct err *e)
{
    setting_format(setting_find(settings_of_study, path), &s->settings, dst);
    buf_add(dst, "");
    return dst->failed ? mem_fail(e) : 0;
}

/* Gives the study the value with which the rounds began. */
static int keep_value(struct study *s, const char *path, const char *was, struct err *e)
{
    const struct yaml_origin *o = yaml_table_origin(settings_of_study, &s->origins, path);
    struct buf is = {0};
    int rc = format_value(s, path, &is, e);

    if (rc == 0 && strcmp(is.data ? is.data : "", was) != 0) {
        if (o->layer == YAML_COMMAND)
            rc = err_set(e, ERR_USAGE, "%s: %s is %s, but the rounds began with %s, and a test that is "
                         "repeated keeps its rule; for another one make another study with 'unetctl "
                         "init'", o->where, path, is.data ? is.data : "", *was ? was : "none");
        else if (o->layer > YAML_BUILTIN && strcmp(path, paths[0]) != 0)
            log_info("%s: the rounds began with %s %s and keep it", study_place(s, path), path, was);
        rc = rc ? rc : set_value(s, path, was, e);
    }
    buf_destroy(&is);
    return rc;
}

/* Takes the values of rounds.json, or makes them those of the study. */
static int settle_values(struct rounds *r, struct study *s, struct err *e)
{
    json_t *design = json_object();
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < NPATHS; i++) {
        const char *was = json_string_value(json_object_get(r->record.design, paths[i]));
        struct buf is = {0};
        if (was && (i != BUDGET || !(s->design.max_gpu_hours > 0)))
            rc = keep_value(s, paths[i], was, e);
        if (rc == 0)
            rc = format_value(s, paths[i], &is, e);
        json_object_set_new(design, paths[i], json_string(is.data ? is.data : ""));
        buf_destroy(&is);
    }
    json_decref(r->record.design);
    r->record.design = design;
    return rc;
}

/* Short runs end at the limit of the study or, if it has none, at this one. */
static int set_limit(struct study *s, struct err *e)
{
    return s->limit.steps || s->limit.minutes > 0
               ? 0
               : set_value(s, "limit.steps", "200", e) || set_value(s, "limit.minutes", "5", e);
}

void rounds_rule(const struct study *s, struct decision_rule *rule, struct series_facts *facts)
{
    rule->efficiency = s->report.efficiency;
    settings_decode_margin(s->quality.margin, &rule->margin, &rule->is_share);
    rule->chosen = study_sets(s, "quality.margin");
    facts->unit = s->work.unit;
    if (strcmp(s->work.mode, "weak") == 0)
        facts->mode = SERIES_WEAK;
    else if (*s->work.unit || s->work.per_run > 0 || s->work.per_step > 0)
        facts->mode = SERIES_STRONG;
}

/* Returns whether all GPUs together have the batch and the statistics of one. */
static bool is_shared(const struct study *s)
{
    return strcmp(s->engine, "embedded") == 0 && s->train.global_batch && !s->train.batch_per_gpu &&
           strcmp(s->model.batch_norm, "local") != 0;
}

static int fill_design(struct rounds *r, struct err *e)
{
    const struct study *s = &r->w->plan.study;
    struct design *d = &r->design;
    struct range counts;

    if (range_decode(r->w->plan.study.gpus, 1, SETTINGS_GPUS_MAX, &counts, e))
        return err_prefix(e, "--gpus");
    *d = (struct design)DESIGN_INIT;
    while (d->ncounts < counts.count && d->ncounts < DESIGN_COUNTS) {
        d->counts[d->ncounts] = counts.values[d->ncounts];
        d->ncounts++;
    }
    bool fits = d->ncounts > 1 && d->ncounts == counts.count;
    range_destroy(&counts);
    if (!fits)
        return err_set(e, ERR_USAGE, "--until-decided compares 2 to %d numbers of GPUs, and not %s; "
                       "type --gpus 1..14, or the numbers that you can get", DESIGN_COUNTS,
                       r->w->plan.study.gpus);
    while (d->nseeds < DESIGN_SEEDS) {
        d->seeds[d->nseeds] = (long)d->nseeds + 1;
        d->nseeds++;
    }
    rounds_rule(s, &d->rule, &d->facts);
    if (s->design.max_gpu_hours > 0)
        d->max_gpu_hours = s->design.max_gpu_hours;
    d->quality = study_has_images(s) || *s->quality.name || *s->log.quality;
    d->shared = is_shared(s);
    d->epochs = study_has(s, "train.epochs") ? s->train.epochs : 0;
    d->whole_s = 60.0 * r->w->plan.options.time_min; /* at most */
    if (s->limit.minutes > 0)
        d->short_s = 60 * s->limit.minutes;
    return 0;
}

int rounds_check_variants(const struct plan *p, struct err *e)
{
    return p->nvariants ? err_set(e, ERR_USAGE, "--until-decided is for one series of runs: leave "
                                  "out variants (--vary, or variants in study.yaml)")
                        : 0;
}

static int check(const struct rounds *r, struct err *e)
{
    const struct workspace *w = r->w;
    struct plan plan = {0};

    if (rounds_check_variants(&w->plan, e))
        return -1;
    if (strcmp(w->plan.scheduler, "dry") == 0)
        return err_set(e, ERR_USAGE, "--until-decided needs results, which the scheduler dry does "
                       "not make; --dry-run shows the first round");
    if (!(w->plan.study.design.max_gpu_hours > 0))
        return err_set(e, ERR_USAGE, "--until-decided needs --max-gpu-hours H: the most GPU-hours "
                       "to spend");
    if (r->design.quality && !r->design.epochs && !(r->design.whole_s > 0))
        return err_set(e, ERR_CONFIG, "--until-decided: what a whole run costs is unknown, as it has no "
                       "time limit; set one (slurm.time in study.yaml, or -- --time=H:MM:SS)");
    int rc = workspace_plan(w, &plan, e) || attempt_check(&w->plan, plan.runs, e) ? -1 : 0;
    plan_free_runs(&plan);
    return rc;
}

int rounds_read(struct rounds *r, struct workspace *w, double max_gpu_hours, struct err *e)
{
    *r = (struct rounds){.w = w};
    if (rounds_file_read(&w->ledger, &r->record, e)) {
        r->w = NULL;
        return -1;
    }
    if (max_gpu_hours > 0)
        w->plan.study.design.max_gpu_hours = max_gpu_hours;
    int rc = (!r->record.design && set_limit(&w->plan.study, e)) ||
                     settle_values(r, &w->plan.study, e)
                 ? -1
                 : 0;
    r->short_runs = w->plan;
    if (rc || fill_design(r, e) || study_copy(&w->plan.study, &r->short_runs.study, e)) {
        rounds_file_destroy(&r->record);
        *r = (struct rounds){.w = NULL};
        return -1;
    }
    r->short_runs.study.variant = ROUNDS_SHORT;
    w->plan.study.limit.steps = 0;
    w->plan.study.limit.minutes = 0;
    return 0;
}

int rounds_open(struct rounds *r, struct workspace *w, double max_gpu_hours, struct err *e)
{
    if (rounds_read(r, w, max_gpu_hours, e))
        return -1;
    if (r->record.verdict.state == DESIGN_BUDGET) /* it may be larger */
        r->record.verdict.state = DESIGN_CONTINUE;
    if (check(r, e) == 0)
        return 0;
    rounds_close(r);
    return -1;
}

void rounds_close(struct rounds *r)
{
    study_close(&r->short_runs.study);
    rounds_file_destroy(&r->record);
}

/* ---- the runs of a round ---- */

static int plan_run(struct rounds *r, const struct design_run *wanted, struct run *dst,
                    struct err *e)
{
    const struct plan *p = wanted->limited ? &r->short_runs : &r->w->plan;
    struct plan plan;
    char gpus[16];

    snprintf(gpus, sizeof gpus, "%d", wanted->gpus);
    if (plan_compute(p, gpus, wanted->seed, &plan, e))
        return -1;
    *dst = plan.runs[plan.count - 1]; /* that of the last seed */
    dst->dtype = plan_dtype(&r->w->plan.study, &p->site);
    plan_free_runs(&plan);
    return 0;
}

static int plan_round(struct rounds *r, const struct design_round *round, struct plan *dst,
                      struct err *e)
{
    *dst = r->w->plan;
    dst->runs = mem_zero(round->nruns + 1, sizeof *dst->runs, e);
    while (dst->runs && dst->count < round->nruns) {
        if (plan_run(r, &round->runs[dst->count], &dst->runs[dst->count], e)) {
            plan_free_runs(dst);
            return -1;
        }
        dst->runs[dst->count++].reason = round->reason;
    }
    return dst->runs ? 0 : -1;
}

/* ---- results ---- */

/* Checks that the result of a run that is over can be used. */
static int check_result(const struct rounds *r, const struct result *row, bool limited,
                        struct err *e)
{
    bool done = row->state == RESULT_DONE,
         judged = done && (limited || !r->design.quality || !isnan(result_quality(row)));

    if (row->state == RESULT_UNREAD && !r->count_failed)
        return err_set(e, ERR_DATA, "%s is unread (%s); correct log in study.yaml and type the "
                       "same command again", row->run, row->note);
    if (!judged && !r->count_failed)
        return err_set(e, ERR_DATA, "%s %s%s (%s); --count-failed counts it as failed and continues",
                       row->run, done ? "has no " : "is ",
                       done ? result_quality_word(row) : result_state_names[row->state],
                       done ? "did it diverge?" : row->note);
    if (row->state == RESULT_DONE && limited && row->limited != 1)
        return err_set(e, ERR_CONFIG, "%s was a whole training, as it ended before the limit of short "
                       "runs: make another study with 'unetctl init', and set limit.steps or "
                       "limit.minutes to a small part of a training", row->run);
    return 0;
}

/* Lists the ids of the first n rounds, with 1 for short runs. */
static int index_runs(struct rounds *r, size_t n, struct map *dst, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct plan plan;
        if (plan_round(r, &r->record.rounds[i], &plan, e))
            return -1;
        for (size_t k = 0; rc == 0 && k < plan.count; k++)
            if (map_set(dst, plan.runs[k].id, plan.runs[k].study == &r->short_runs.study))
                rc = mem_fail(e);
        plan_free_runs(&plan);
    }
    return rc;
}

/* Checks that a report compares all these results: they are of one program with one container and
 * the same settings. */
static int check_comparable(const struct rounds *r, const struct results *own, struct err *e)
{
    struct series_list all;
    const struct series *other = NULL;

    if (series_list_compute(&all, "rounds", own, &r->design.facts, NULL, e))
        return -1;
    for (size_t i = 1; i < all.count && !other; i++)
        if (all.items[i].settings != all.items[0].settings)
            other = &all.items[i];
    int rc = !other ? 0
                    : err_set(e, ERR_CONFIG, "the rounds have no verdict, as their runs are not of one "
                              "program with the same settings: some are %s, others %s; make another "
                              "study with 'unetctl init'", all.items[0].name, other->name);
    series_list_destroy(&all);
    return rc;
}

/* Lists the rows of the table that are of the first n rounds; those of other runs do not count. dst
 * borrows the rows. */
static int take_results(struct rounds *r, size_t n, const struct results *table, bool checked,
                        struct results *dst, struct err *e)
{
    struct map ids = {0};
    size_t limited;
    int rc = index_runs(r, n, &ids, e);

    *dst = (struct results){.rows = mem_zero(table->count + 1, sizeof *dst->rows, e)};
    rc = dst->rows ? rc : -1;
    for (size_t i = 0; rc == 0 && i < table->count; i++)
        if (map_get(&ids, table->rows[i].run, &limited)) {
            rc = checked ? check_result(r, &table->rows[i], limited, e) : 0;
            dst->rows[dst->count++] = table->rows[i];
        }
    if (rc == 0 && checked && dst->count < ids.count)
        rc = err_set(e, ERR_DATA, "%zu run%s of .unetctl/rounds.json no longer in runs/",
                     ids.count - dst->count, ids.count - dst->count == 1 ? " is" : "s are");
    map_destroy(&ids);
    return rc;
}

static int choose_next(struct rounds *r, struct design_round *next, struct err *e)
{
    struct results table = {0}, own = {0};

    if (r->record.count && collect_study(r->w, false, &table, e))
        return -1;
    int rc = take_results(r, r->record.count, &table, true, &own, e) ||
                     check_comparable(r, &own, e) ||
                     design_next(&r->design, &own, r->record.rounds, r->record.count, next,
                                 &r->record.verdict, e)
                 ? -1
                 : 0;
    free(own.rows);
    results_destroy(&table);
    return rc;
}

/* Adds a count whose first look is not over, so that its runs are not judged as a fixed sample. */
static void add_unjudged(const struct design_round *newest, struct quality_looks *looks)
{
    if (newest->tested && newest->look <= 1 &&
        (!looks->n || looks->items[looks->n - 1].gpus != newest->tested) &&
        looks->n < QUALITY_LOOKS) {
        looks->items[looks->n++] = (struct quality_look){.gpus = newest->tested};
        looks->family = newest->family;
    }
}

int rounds_describe(struct rounds *r, const struct results *table, struct quality_looks *looks,
                    char **text, struct err *e)
{
    struct design_outcome verdict;
    struct design_round ignored;
    struct results own = {0};
    struct buf b = {0};
    /* without a verdict the newest round was not judged yet */
    size_t n = r->record.count - (r->record.verdict.state == DESIGN_CONTINUE);
    int rc = take_results(r, n, table, false, &own, e);
    bool is_mixed = rc == 0 && check_comparable(r, &own, e);

    if (rc == 0 && !is_mixed)
        rc = design_next(&r->design, &own, r->record.rounds, n, &ignored, &verdict, e);
    if (rc == 0)
        rc = design_view_looks(&r->design, &own, r->record.rounds, n, looks, e);
    if (rc == 0) {
        if (n < r->record.count)
            add_unjudged(&r->record.rounds[n], looks);
        for (size_t i = 0; is_mixed && i < looks->n; i++)
            looks->items[i].pairs = 0; /* runs of another program are not judged */
        if (is_mixed)
            buf_addf(&b, "The study was sequential, but %s.", e->text);
        else
            design_describe(&r->design, r->record.rounds, n, &verdict, &b);
    }
    free(own.rows);
    *text = buf_steal(&b);
    return rc;
}

/* Writes the next round, or why there is none, unless another process has done so meanwhile. */
static int write_next(struct rounds *r, const struct design_round *next, struct err *e)
{
    struct rounds_record now;

    if (ledger_lock(&r->w->ledger, LEDGER_LOCK_S, e))
        return -1;
    int rc = rounds_file_read(&r->w->ledger, &now, e);
    bool is_over = now.verdict.state != DESIGN_CONTINUE && now.verdict.state != DESIGN_BUDGET;
    if (rc == 0 && (is_over || now.count > r->record.count)) {
        rounds_file_destroy(&r->record);
        r->record = now;
    } else if (rc == 0) {
        rounds_file_destroy(&now);
        if (r->record.verdict.state == DESIGN_CONTINUE)
            rc = rounds_file_add(&r->record, next, e);
        if (rc == 0 && r->record.count)
            rc = rounds_file_write(&r->w->ledger, &r->record, e);
    }
    ledger_unlock(&r->w->ledger);
    return rc;
}

/* ---- what a round may begin with ---- */

static bool is_missing(const struct rounds *r, const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct ledger_entry *entry = ledger_find(&r->w->ledger, plan->runs[i].id, 0);
        if (!entry || entry->last != LEDGER_SUBMITTED)
            return true;
    }
    return false;
}

/* Compares what the first of the missing runs would execute with what these runs did, until that is
 * known of one (*known), and the settings. Runs that failed may have had another program, with
 * which they are not counted. */
static int check_as_before(const struct rounds *r, const struct run *missing,
                           const struct plan *before, bool *known, struct err *e)
{
    const struct workspace *w = r->w;
    struct run_attempt newest;

    for (size_t i = 0; i < before->count; i++) {
        const struct run *run = &before->runs[i];
        if (run_dir_attempt(w->plan.study.dir, run->id, &newest, e))
            return -1;
        if (!newest.begun || (newest.marker == RUN_FAILED && !r->count_failed))
            continue;
        if (run_settings_compare(&w->plan, run, e))
            return -1;
        int rc = *known ? 1 : source_files_compare(&w->plan, missing, run->id, newest.number, e);
        if (rc < 0)
            return -1;
        *known = rc > 0;
    }
    return 0;
}

/* Checks that the missing runs of the newest round, whose plan it is, have the program, container
 * and settings of those that have begun. */
static int check_program(struct rounds *r, const struct plan *plan, struct err *e)
{
    bool known = false;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < r->record.count && is_missing(r, plan); i++) {
        struct plan before;
        if (plan_round(r, &r->record.rounds[i], &before, e))
            return -1;
        rc = check_as_before(r, &plan->runs[0], &before, &known, e);
        plan_free_runs(&before);
    }
    return rc ? err_prefix(e, "nothing more of round %zu was submitted", r->record.count) : 0;
}

/* ---- steps ---- */

/* Takes the verdict that another process has reached meanwhile. Without one, the rounds were
 * cancelled. Returns 1 or -1. */
static int take_end(struct rounds *r, struct err *e)
{
    struct rounds_record now;

    if (rounds_file_read(&r->w->ledger, &now, e))
        return -1;
    rounds_file_destroy(&r->record);
    r->record = now;
    return now.verdict.state != DESIGN_CONTINUE
               ? 1
               : err_set(e, ERR_INTERNAL, "nothing more is submitted: the rounds were given up by "
                         "'unetctl cancel'; type 'unetctl submit --until-decided' to continue");
}

/* Submits what is missing of the newest round. Returns 1 if all of its runs are done, 0 if not yet,
 * or -1. */
static int submit_round(struct rounds *r, struct err *e)
{
    size_t number = r->record.count;
    struct submission_counts c;
    struct plan plan;

    if (plan_round(r, &r->record.rounds[number - 1], &plan, e))
        return -1;
    int rc = check_program(r, &plan, e) ? -1 : submission_submit(r->w, &plan, &c, e);
    plan_free_runs(&plan);
    if (rc || c.submitted || c.active || c.left)
        return rc;
    if (c.unwanted)
        return take_end(r, e);
    if (c.others)
        return err_set(e, ERR_CONFIG, "round %zu waits for %zu run%s left alone, as said above",
                       number, c.others, plural((long)c.others));
    if (c.bad && !r->count_failed)
        return err_set(e, ERR_INTERNAL, "round %zu: %zu run%s ended without a result; type 'unetctl "
                       "resume' and then the same command again, or add --count-failed, which "
                       "counts %s as failed", number, c.bad, plural((long)c.bad),
                       c.bad == 1 ? "it" : "them");
    return 1;
}

long rounds_step(void *arg, struct err *e)
{
    struct design_round next;
    struct rounds *r = arg;
    char text[ROUNDS_FILE_TEXT];

    while (r->record.verdict.state == DESIGN_CONTINUE) {
        int over = r->record.count ? submit_round(r, e) : 1;
        if (over <= 0)
            return over ? -1 : 1;
        if (r->record.verdict.state != DESIGN_CONTINUE)
            break;
        if (choose_next(r, &next, e) || write_next(r, &next, e))
            return -1;
        if (r->record.verdict.state == DESIGN_CONTINUE &&
            rounds_file_describe(&r->w->ledger, text))
            log_info("%s", text);
    }
    if (!r->record.count)
        return err_set(e, ERR_CONFIG, "nothing was submitted: %s", r->record.verdict.why);
    return 0;
}

int rounds_plan(struct rounds *r, struct plan *dst, struct err *e)
{
    struct design_round first;

    if (!r->record.count) {
        if (choose_next(r, &first, e))
            return -1;
        if (r->record.verdict.state != DESIGN_CONTINUE)
            return err_set(e, ERR_CONFIG, "%s", r->record.verdict.why);
        if (rounds_file_add(&r->record, &first, e))
            return -1;
    }
    return plan_round(r, &r->record.rounds[r->record.count - 1], dst, e);
}
