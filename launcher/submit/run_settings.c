/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/submit/attempt.h"

#include <jansson.h>

#include "launcher/study/plan.h"

static int read_begun_plan(const struct plan *p, const char *run, struct run *planned, char **text,
                           struct err *e)
{
    if (run_dir_read(p->study.dir, run, planned, text, e) == 0)
        return 0;
    return err_prefix(e, "run %s has begun, and its plan cannot be read (restore it from a copy, "
                      "or remove the folder of the run, then submit and resume)", run);
}

/* Returns whether path is a setting of the batch size. run.json has train.batch_per_gpu even if the
 * study sets train.global_batch, so take_batch takes one of the two. */
static bool is_batch(const char *path)
{
    return strcmp(path, "train.global_batch") == 0 || strcmp(path, "train.batch_per_gpu") == 0;
}

static void take_batch(const json_t *plan, struct study *s)
{
    const char *const path = "train.batch_per_gpu";
    const json_t *value = run_json_value(plan, path);
    long all = (long)json_integer_value(run_json_value(plan, "train.global_batch"));
    long each = (long)json_integer_value(value);

    if (value) /* the study has the key (study_has) */
        s->origins.at[setting_find(settings_of_study, path) - settings_of_study].layer =
            YAML_COMMAND;
    if (all)
        s->train.global_batch = (int)all;
    s->train.batch_per_gpu = all ? 0 : (int)each;
}

static bool is_given(const struct study *s, const struct setting *k)
{
    return s->origins.at[k - settings_of_study].layer == YAML_COMMAND;
}

static int take_lines(struct study *s, const struct setting *k, const json_t *value, struct err *e)
{
    size_t n = json_array_size(value);
    const char **lines = mem_zero(n + 1, sizeof *lines, e);
    int rc = lines ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!(lines[i] = json_string_value(json_array_get(value, i))))
            rc = err_set(e, ERR_CONFIG, "run.json: %s: must be a list of texts", k->path);
    if (rc == 0)
        rc = setting_set_lines(k, lines, n, &s->settings, e);
    s->origins.at[k - settings_of_study].layer = YAML_COMMAND;
    free(lines);
    return rc;
}

static int take_value(struct study *s, const struct setting *k, const json_t *value, struct err *e)
{
    const char *text = json_string_value(value);
    char *dumped = text ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    int rc = 0;

    if (json_is_array(value))
        rc = take_lines(s, k, value, e);
    else if (!text && !dumped)
        rc = mem_fail(e);
    else if (dumped || *text ||
             (k->preset && !*k->preset)) /* "" for python: the engine has none; its preset stays */
        rc = yaml_table_add_text(settings_of_study, k->path, text ? text : dumped, YAML_COMMAND,
                                 "run.json",
                                 &s->settings, &s->origins, e);
    free(dumped);
    return rc;
}

/* Gives the study the preset of a key that is missing in run.json because the run did not set it,
 * such as limit.steps. */
static int take_preset(struct study *s, const struct setting *k, struct err *e)
{
    return setting_is_preset(k, &s->settings)
               ? 0
               : yaml_table_add_text(settings_of_study, k->path, k->preset, YAML_COMMAND,
                                     "run.json",
                                     &s->settings, &s->origins, e);
}

static int take_plan(const struct plan *p, const json_t *plan, const struct run *run,
                     struct study *s, struct err *e)
{
    for (const struct setting *k = settings_of_study; k->path; k++) {
        const json_t *value = run_json_value(plan, k->path);

        const struct setting *own = value ? NULL : setting_find(settings_of_run, k->path);

        if (own && own->on_demand && !own->of_split && !is_given(&p->study, k) &&
            take_preset(s, k, e))
            return err_prefix(e, "%s: run.json", run->id);
        if (!value || is_batch(k->path) || (k->is_place && is_given(&p->study, k)))
            continue;
        if (take_value(s, k, value, e))
            return err_prefix(e, "%s: run.json", run->id);
    }
    for (const struct setting *k = settings_gone; k->path; k++) {
        const json_t *value = run_json_value(plan, k->path);
        if (value && !setting_json_is_preset(k, value)) {
            setting_refuse(settings_gone, k->path, e);
            e->code = ERR_CONFIG;
            return err_prefix(e, "%s: run.json", run->id);
        }
    }
    take_batch(plan, s);
    return 0;
}

/* Returns whether the setting may be given for a begun run although its run.json does not have it.
 * That holds for settings of the job and for the sections of engines other than the embedded
 * one. */
static bool is_of_job(const struct setting *k)
{
    const char *const *engine = setting_find(settings_of_study, "engine")->words;
    size_t n = strcspn(k->path, ".");

    while (*engine && (strlen(*engine) != n || strncmp(k->path, *engine, n) != 0))
        engine++;
    return *engine || strncmp(k->path, "slurm.", 6) == 0 || strcmp(k->path, "site") == 0 ||
           strcmp(k->path, "templates") == 0 || strncmp(k->path, "container", 9) == 0;
}

/* Refuses an option of the command line that would have no effect. */
static int check_given(const struct plan *p, const json_t *plan, const struct run *run,
                       const struct study *own, struct err *e)
{
    int rc = 0;

    for (const struct setting *k = settings_of_study; rc == 0 && k->path; k++) {
        bool has = run_json_value(plan, k->path) != NULL;
        struct buf was = {0}, given = {0};

        if (!is_given(&p->study, k) || (!has && is_of_job(k)))
            continue;
        setting_format(k, &own->settings, &was);
        setting_format(k, &p->study.settings, &given);
        if (!has || strcmp(was.data ? was.data : "", given.data ? given.data : "") != 0)
            rc = err_set(
                e, ERR_USAGE,
                "%s %s: run %s %s%s%s, and a run keeps the settings it began with (only slurm.* "
                "and the places of files can change; for other settings make another study with "
                "'unetctl init')",
                p->study.origins.at[k - settings_of_study].where, k->path, run->id,
                has ? "began with " : "has begun", has && was.data ? was.data : "",
                has && !was.data ? "an empty value" : "");
        buf_destroy(&was);
        buf_destroy(&given);
    }
    return rc;
}

/* Returns whether the run is one of a variant, whose id has a longer label than the study's
 * runs. */
static bool is_of_variant(const struct plan *p, const char *run)
{
    char label[RUN_LABEL_SIZE];
    int gpus, seed, end = 0;
    struct run planned;
    struct err ignored;

    if (run_dir_read(p->study.dir, run, &planned, NULL, &ignored))
        return false;
    plan_label(&p->study, planned.engine, label);
    size_t n = strlen(label);
    return strncmp(run, label, n) == 0 &&
           !(sscanf(run + n, "-g%d-s%d%n", &gpus, &seed, &end) == 2 && !run[n + (size_t)end]);
}

/* Returns run.json of the run with the settings of s. */
static char *encode_with(const struct study *s, const struct plan *p, const struct run *run,
                         struct err *e)
{
    struct run other = *run;

    other.study = s;
    return run_json_encode(p->study_id, &other, e);
}

static bool has_given(const struct study *s)
{
    for (const struct setting *k = settings_of_study; k->path; k++)
        if (is_given(s, k))
            return true;
    return false;
}

/* Takes the settings of text, the run's run.json, into dst, a copy of the study of p, unless they
 * are the same. *differs becomes whether those of dst are others than those of text: paths are. */
static int take_own(const struct plan *p, const struct run *planned, const char *text,
                    struct study *dst, bool *differs, struct err *e)
{
    struct run_difference difference = {0};
    char *now = encode_with(&p->study, p, planned, e);
    bool same = now && strcmp(text, now) == 0;

    *differs = false;
    if (!now || same) {
        free(now);
        return same ? !has_given(&p->study) : -1;
    }
    free(now);
    json_t *plan = run_json_decode(text, p->study.dir, e);
    now = plan && take_plan(p, plan, planned, dst, e) == 0 ? encode_with(dst, p, planned, e) : NULL;
    int rc = now ? run_json_compare(text, now, NULL, &difference, e) : -1;
    *differs = difference.count > 0;
    json_decref(plan);
    free(now);
    return rc;
}

int run_settings_open(const struct plan *p, const char *run, struct study *dst, bool *own_plan,
                      struct err *e)
{
    struct run planned;
    char *text = NULL;
    int rc;

    if (study_copy(&p->study, dst, e))
        return -1;
    *own_plan = false;
    if (run_dir_never_trained(p->study.dir, run) && !is_of_variant(p, run))
        return 0;
    rc = read_begun_plan(p, run, &planned, &text, e);
    if (rc == 0)
        rc = take_own(p, &planned, text, dst, own_plan, e);
    if (rc < 0)
        study_close(dst);
    free(text);
    return rc;
}

/* Renames "program" in the difference to the engine's section in study.yaml. */
static void name_key(const struct run *run, struct run_difference *d)
{
    char key[sizeof d->path];

    if (strncmp(d->path, "program.", 8) != 0)
        return;
    snprintf(key, sizeof key, "%s.%s", run->engine->name, d->path + 8);
    memcpy(d->path, key, sizeof key);
}

int run_settings_check(const struct plan *p, const struct run *run, struct err *e)
{
    char *was = run_json_encode(p->study_id, run, e);
    char *is = was ? encode_with(&p->study, p, run, e) : NULL;
    json_t *plan = is ? run_json_decode(was, NULL, e) : NULL;
    struct run_difference d = {0};
    int rc = plan && check_given(p, plan, run, run->study, e) == 0
                 ? run_json_compare(was, is, NULL, &d, e)
                 : -1;

    json_decref(plan);
    name_key(run, &d);
    if (rc == 0 && d.count)
        log_info(
            "%s continues with the settings it began with: %s is %s, though %s says %s%s", run->id,
            d.path, d.was, study_place(&p->study, d.path), d.is,
            d.count > 1 ? "; other settings differ as well" : "");
    free(was);
    free(is);
    return rc;
}

int run_settings_compare(const struct plan *p, const struct run *run, struct err *e)
{
    struct run_difference d = {0};
    struct run_attempt newest;
    struct run planned;
    char *was, *is;

    if (run_dir_attempt(p->study.dir, run->id, &newest, e))
        return -1;
    if (newest.marker == RUN_FAILED && run_dir_never_trained(p->study.dir, run->id))
        return 0;
    if (read_begun_plan(p, run->id, &planned, &was, e))
        return -1;
    is = encode_with(run->study, p, run->resized ? &planned : run, e);
    int rc = is ? run_json_compare(was, is, p->study.dir, &d, e) : -1;
    free(was);
    free(is);
    name_key(&planned, &d);
    if (d.count == 0)
        return rc;
    return err_set(e, ERR_CONFIG, "run %s has begun with other settings: %s is %s, and %s says %s "
                   "('unetctl resume' continues with the run's own; to train with others, make "
                   "another study with 'unetctl init')", run->id, d.path, d.was,
                   study_place(run->study, d.path), d.is);
}

/* ---- measured times ---- */

/* The measured runs that differ only in their seeds. */
struct group {
    const struct study *study; /* their settings */
    double total_s;
    size_t runs;
};

/* Writes the id without its seed. */
static const char *find_group(const char *id, char dst[RUN_ID_SIZE])
{
    const char *seed = strrchr(id, '-');

    snprintf(dst, RUN_ID_SIZE, "%.*s", seed ? (int)(seed - id) : RUN_ID_SIZE - 1, id);
    return dst;
}

/* Returns how long the training of the run took, or 0 if that says nothing about others, since it
 * has other settings than study. */
static double measure(const struct plan *p, const struct study *study, const char *id)
{
    struct run_attempt attempt;
    struct run_progress progress;
    struct layout layout;
    struct run run;
    struct err ignored;

    if (run_dir_attempt(p->study.dir, id, &attempt, &ignored) || attempt.marker != RUN_DONE ||
        attempt.number != 1 || run_dir_layout(p->study.dir, id, 1, &layout, &ignored) != 0 ||
        run_dir_read(p->study.dir, id, &run, NULL, &ignored))
        return 0;
    run.study = study;
    if (run_settings_compare(p, &run, &ignored))
        return 0;
    run_dir_progress(&attempt, &progress);
    return progress.training_s > 0 ? progress.training_s : 0;
}

static int number_groups(const struct plan *plan, struct group *groups, struct map *dst)
{
    char name[RUN_ID_SIZE];

    for (size_t i = 0; i < plan->count; i++) {
        if (map_get(dst, find_group(plan->runs[i].id, name), NULL))
            continue;
        groups[dst->count].study = plan->runs[i].study;
        if (map_set(dst, name, dst->count))
            return -1;
    }
    return 0;
}

int measured_collect(const struct plan *plan, double *seconds, struct err *e)
{
    struct group *groups = calloc(plan->count + 1, sizeof *groups);
    struct map numbers = {0};
    struct setting_lines ids = {0};
    char name[RUN_ID_SIZE];
    size_t g;
    int rc = groups && number_groups(plan, groups, &numbers) == 0 ? 0 : mem_fail(e);

    if (rc == 0)
        rc = run_dir_list(plan->study.dir, &ids, e);
    for (size_t i = 0; rc == 0 && i < ids.count; i++) {
        if (!map_get(&numbers, find_group(ids.lines[i], name), &g))
            continue;
        double s = measure(plan, groups[g].study, ids.lines[i]);
        groups[g].total_s += s;
        groups[g].runs += s > 0;
    }
    for (size_t i = 0; rc == 0 && i < plan->count; i++) {
        map_get(&numbers, find_group(plan->runs[i].id, name), &g);
        seconds[i] = groups[g].runs ? groups[g].total_s / (double)groups[g].runs : 0;
    }
    setting_clear_lines(&ids);
    map_destroy(&numbers);
    free(groups);
    return rc;
}
