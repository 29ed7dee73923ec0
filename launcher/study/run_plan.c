/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/run_plan.h"

#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/study/run_dir.h"
#include "launcher/study/setting_json.h"
#include "src/cluster/range.h"
#include "src/format/schema.h"
#include "src/mem.h"
#include "src/plural.h"
#include "src/settings/settings.h"

#define MAX_RUNS 100000

static int choose_strategy(const struct study *study, const struct engine *engine,
                           enum layout_strategy *dst, struct err *e)
{
    if (layout_strategy_decode(study->strategy, dst, e))
        return -1;
    if (!engine->rank_per_gpu)
        return 0;
    if (*dst == LAYOUT_MIRRORED)
        return err_set(e, ERR_CONFIG, "strategy mirrored: engine %s uses one process per GPU; "
                       "choose multi-worker or auto", engine->name);
    *dst = LAYOUT_MULTI_WORKER;
    return 0;
}

/* Returns the number of images per step if it does not depend on the number of GPUs, or 0 if
 * each GPU has its own batch. */
static long constant_batch(const struct study *s, const struct engine *engine)
{
    return s->train.batch_per_gpu || !engine->embedded ? 0 : s->train.global_batch;
}

struct run_batch run_plan_batch(const struct run *run)
{
    const struct study *s = run->study;
    long each = s->train.batch_per_gpu ? s->train.batch_per_gpu : s->train.global_batch;
    long all = run->batch ? run->batch : constant_batch(s, run->engine);
    int gpus = run->layout.gpus;

    return all ? (struct run_batch){all, (all + gpus - 1) / gpus}
               : (struct run_batch){each * gpus, each};
}

/* Writes the label's first part: the model or, for engines other than the embedded one, the
 * engine. Of the path of a model's file only the last part without .yaml is used, with other
 * characters than letters and digits replaced by -, since job names contain it. */
static void name_run(const struct study *study, const struct engine *engine, char dst[33])
{
    const char *name = engine->embedded ? study->model.name : engine->name;
    const char *slash = strrchr(name, '/');
    size_t n = 0;

    if (!engine->embedded || !settings_model_is_file(name)) {
        snprintf(dst, 33, "%s", name);
        return;
    }
    for (name = slash ? slash + 1 : name; *name && n < 32 && strcmp(name, ".yaml") != 0; name++)
        dst[n++] = isalnum((unsigned char)*name) ? *name : '-';
    dst[n] = 0;
}

static int choose_layout(const struct study *study, const struct site *site, int gpus,
                         struct run *dst, struct err *e)
{
    enum layout_strategy strategy;
    int per_node = site->gpus_per_node ? (int)site->gpus_per_node : gpus;

    return choose_strategy(study, dst->engine, &strategy, e) ||
                   layout_compute(gpus, per_node, strategy, &dst->layout, e) ||
                   (dst->engine->embedded &&
                    settings_check_comm(&study->settings, gpus, dst->layout.tasks, e))
               ? err_prefix(e, "%d GPU%s on site %s", gpus, plural(gpus), site->name)
               : 0;
}

void run_plan_label(const struct study *study, const struct engine *engine,
                    char dst[RUN_LABEL_SIZE])
{
    const struct setting *s = setting_find(settings_of_run, "train.dtype");
    const char *word = study->train.dtype;

    name_run(study, engine, dst);
    if (study->variant)
        snprintf(dst + strlen(dst), RUN_LABEL_SIZE - strlen(dst), "-%s", study->variant);
    else if (engine->embedded && strcmp(word, s->preset) != 0 && strcmp(word, s->absent) != 0)
        snprintf(dst + strlen(dst), RUN_LABEL_SIZE - strlen(dst), "-%s", word);
}

/* Returns train.dtype of the study's runs with this label, or NULL if it has none. */
static const char *begun_dtype(const struct study *study, const char *label)
{
    const char *dtype = NULL;
    struct setting_lines ids;
    size_t n = strlen(label);
    struct err ignored;
    struct run run;

    if (run_dir_list(study->dir, &ids, &ignored))
        return NULL;
    for (size_t i = 0; i < ids.count && !dtype; i++)
        if (strncmp(ids.lines[i], label, n) == 0 && strncmp(ids.lines[i] + n, "-g", 2) == 0 &&
            run_dir_read(study->dir, ids.lines[i], &run, NULL, &ignored) == 0)
            dtype = run.dtype;
    setting_clear_lines(&ids);
    return dtype;
}

const char *run_plan_dtype(const struct study *study, const struct site *site)
{
    const char *word = study->train.dtype, *backend = study->train.backend, *begun;
    char label[RUN_LABEL_SIZE];
    struct err ignored;
    const struct engine *engine = engine_find(study->engine, &ignored);
    bool on_cpu = strcmp(backend, "auto") == 0 ? site_has_fake_gpus(site)
                                               : strcmp(backend, "cuda") != 0;

    if (strcmp(word, "auto") != 0 || !engine)
        return word;
    run_plan_label(study, engine, label);
    if ((begun = begun_dtype(study, label)))
        return begun;
    return !engine->embedded || on_cpu ? "f32" : word;
}

static int compute_run(const struct study *study, const struct site *site, int gpus, int seed,
                       struct run *dst, struct err *e)
{
    char label[RUN_LABEL_SIZE];

    dst->study = study;
    dst->engine = engine_find(study->engine, e);
    if (!dst->engine)
        return err_prefix(e, "%d GPU%s on site %s", gpus, plural(gpus), site->name);
    if (choose_layout(study, site, gpus, dst, e))
        return -1;
    dst->seed = seed;
    run_plan_label(study, dst->engine, label);
    snprintf(dst->id, sizeof dst->id, RUN_ID_FORMAT, label, gpus, (long)seed);
    return 0;
}

int run_plan_compute(const struct study *study, const struct site *site, const char *gpus,
                     long seeds, struct run_plan *dst, struct err *e)
{
    const char *dtype = run_plan_dtype(study, site);
    struct range counts;
    int rc = 0;

    *dst = (struct run_plan){0};
    if (range_decode(gpus, 1, SETTINGS_GPUS_MAX, &counts, e))
        return err_prefix(e, "--gpus");
    if (counts.count > (size_t)(MAX_RUNS / seeds)) {
        err_set(e, ERR_USAGE,
                "%zu numbers of GPUs x %ld seeds are more than %d runs, the limit of a study",
                counts.count, seeds, MAX_RUNS);
        range_destroy(&counts);
        return -1;
    }
    dst->runs = mem_zero(counts.count * (size_t)seeds, sizeof *dst->runs, e);
    rc = dst->runs ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < counts.count; i++)
        for (int seed = 1; rc == 0 && seed <= seeds; seed++) {
            dst->runs[dst->count].dtype = dtype;
            rc = compute_run(study, site, counts.values[i], seed, &dst->runs[dst->count++], e);
        }
    range_destroy(&counts);
    if (rc)
        run_plan_destroy(dst);
    return rc;
}

int run_plan_resize(const struct site *site, struct run *run, int gpus, bool scale, struct err *e)
{
    const struct study *study = run->study;
    const struct settings_program *section = study_engine(study, run->engine->name);
    int planned = run->layout.gpus;

    if (section && !section->resumes)
        return err_set(e, ERR_CONFIG, "%s: engine %s cannot continue from a checkpoint, and so not "
                       "with another number of GPUs (its section does not have 'resumes: true')",
                       run->id, run->engine->name);
    long constant = constant_batch(study, run->engine);

    if (scale && constant)
        return err_set(e, ERR_CONFIG, "%s: --scale-batch: the study sets the batch over all GPUs "
                       "(train.global_batch); leave the option out", run->id);
    if (gpus == planned)
        return 0;
    run->resized = true;
    if (!scale && !constant) {
        run->batch = run_plan_batch(run).global *
                     (run->engine->embedded ? study->train.accumulate : 1);
        run->rate_gpus = planned;
    }
    return choose_layout(study, site, gpus, run, e) ? err_prefix(e, "%s", run->id) : 0;
}

void run_plan_destroy(struct run_plan *plan)
{
    free(plan->runs);
    *plan = (struct run_plan){0};
}

/* Returns the run's settings as run.json has them. Texts are borrowed; path and split are
 * storage for data.dir and data.split. */
static struct settings settings_of(const struct run *run, const char *study_id, char path[PATH_MAX],
                                   char split[PATH_MAX])
{
    const struct study *s = run->study;
    struct settings c = s->settings;
    const struct layout *l = &run->layout;

    /* realpath fails for a folder that does not exist; its name is then used unchanged. */
    if (!realpath(s->data.dir, path))
        snprintf(path, PATH_MAX, "%s", s->data.dir);
    snprintf(split, PATH_MAX, "%s/split.json", s->dir);
    c.study = s->name;
    c.study_id = (char *)study_id;
    c.run = (char *)run->id;
    c.engine = run->engine->name;
    c.seed = run->seed;
    c.data.dir = path;
    c.data.split = split;
    c.model.base = study_base(s);
    c.model.depth = study_depth(s);
    c.train.batch_per_gpu = (int)run_plan_batch(run).per_gpu;
    c.train.global_batch = (int)(run->batch ? run->batch : constant_batch(s, run->engine));
    c.train.rate_gpus = run->rate_gpus;
    c.train.dice_weights = settings_dice_weights(&c);
    c.train.dtype = run->dtype;
    c.layout = (struct settings_layout){l->gpus, l->nodes, l->tasks, l->tasks_per_node,
                                        l->gpus_per_task, layout_strategy_encode(l->strategy)};
    return c;
}

/* Returns whether run.json of a run of the study has the key. Those that a study cannot set are of
 * its images, and the batch per GPU may also come from train.global_batch. */
static bool has_key(const struct study *s, const struct setting *k, const struct settings *c)
{
    bool is_batch = strcmp(k->path, "train.batch_per_gpu") == 0;

    if (k->of_split || (k->on_demand && setting_is_preset(k, c)))
        return false;
    return !setting_is_of_trainer(k) || study_has(s, k->path) ||
           (is_batch && study_has(s, "train.global_batch"));
}

static void encode_setting(json_t *root, const struct setting *s, const struct settings *c)
{
    char section[SETTING_PATH_SIZE];
    json_t *object = root;

    snprintf(section, sizeof section, "%.*s", (int)strcspn(s->path, "."), s->path);
    if (s->path[strlen(section)] && !(object = json_object_get(root, section))) {
        object = json_object();
        json_object_set_new(root, section, object);
    }
    json_object_set_new(object, setting_leaf(s), setting_json_encode(s, c));
}

/* Adds a mapping of the study to run.json's program if a variant or the command line set a name of
 * it. */
static void encode_pairs(const struct study *s, const char *path, json_t *program)
{
    const struct setting *k = setting_find(settings_of_study, path);

    if (s->origins.at[k - settings_of_study].layer == YAML_COMMAND)
        json_object_set_new(program, setting_leaf(k), setting_json_encode(k, &s->settings));
}

/* Encodes the program of an engine other than the embedded one, so that a later change of it is
 * noticed. */
static json_t *encode_program(const struct run *run)
{
    const struct study *s = run->study;
    const struct settings_program *section = study_engine(s, run->engine->name);
    char env[SETTING_PATH_SIZE];
    json_t *args;

    if (!section)
        return NULL;
    args = json_array();
    for (size_t i = 0; i < section->args.count; i++)
        json_array_append_new(args, json_string(section->args.lines[i]));
    json_t *program = json_pack("{s:s, s:s, s:o, s:s*}", "script", section->script, "python",
                                run->engine->is_python ? section->python : "", "args", args,
                                "study_dir", study_has_images(s) ? NULL : s->dir);
    snprintf(env, sizeof env, "%s.env", run->engine->name);
    encode_pairs(s, env, program);
    encode_pairs(s, "markers", program);
    return program;
}

char *run_plan_encode(const char *study_id, const struct run *run, struct err *e)
{
    char path[PATH_MAX], split[PATH_MAX];
    struct settings c = settings_of(run, study_id, path, split);
    json_t *root = json_pack("{s:i}", "schema", SCHEMA);

    for (const struct setting *k = settings_of_run; k->path; k++)
        if (has_key(run->study, k, &c))
            encode_setting(root, k, &c);
    if (!run->engine->embedded)
        json_object_set_new(root, "program", encode_program(run));
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

    if (!text)
        err_set(e, ERR_INTERNAL, "%s: out of memory", run->id);
    json_decref(root);
    return text;
}

/* Replaces the folder `was` by the folder `is` at the start of every text in value. */
static void move_texts(json_t *value, const char *was, const char *is)
{
    size_t n = strlen(was), i;
    const char *key, *text = json_string_value(value);
    char path[PATH_MAX];
    json_t *inner;

    if (text && strncmp(text, was, n) == 0 && (text[n] == '/' || !text[n])) {
        snprintf(path, sizeof path, "%s%s", is, text + n);
        json_string_set(value, path);
    }
    json_object_foreach(value, key, inner) move_texts(inner, was, is);
    json_array_foreach(value, i, inner) move_texts(inner, was, is);
}

const char *run_plan_study_dir(const json_t *plan, size_t *length)
{
    const char *split = json_string_value(json_object_get(json_object_get(plan, "data"), "split"));
    const char *slash = split ? strrchr(split, '/') : NULL, *dir;

    if (slash)
        return *length = (size_t)(slash - split), split;
    dir = json_string_value(json_object_get(json_object_get(plan, "program"), "study_dir"));
    *length = dir ? strlen(dir) : 0;
    return dir;
}

json_t *run_plan_decode(const char *text, const char *study_dir, struct err *e)
{
    json_error_t error;
    json_t *plan = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    size_t n;
    const char *dir = run_plan_study_dir(plan, &n);
    char was[PATH_MAX];

    if (!plan)
        err_set(e, ERR_CONFIG, "not JSON: %s", error.text);
    else if (schema_check(json_number_value(json_object_get(plan, "schema")), ERR_CONFIG, e)) {
        json_decref(plan);
        return NULL;
    }
    if (study_dir && n) {
        snprintf(was, sizeof was, "%.*s", (int)n, dir);
        if (strcmp(was, study_dir) != 0)
            move_texts(plan, was, study_dir);
    }
    return plan;
}

const json_t *run_plan_value(const json_t *plan, const char *key)
{
    const char *engine = json_string_value(json_object_get(plan, "engine"));
    size_t n = strcspn(key, ".");
    char section[64];

    snprintf(section, sizeof section, "%.*s", (int)n, key);
    bool of_engine = engine && strcmp(section, engine) == 0;
    return json_object_get(json_object_get(plan, of_engine || !key[n] ? "program" : section),
                           key[n] ? key + n + 1 : key);
}

static void note_difference(const char *path, const json_t *was, const json_t *is,
                            struct run_difference *dst)
{
    char *a = was ? json_dumps(was, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;
    char *b = json_dumps(is, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

    if (dst->count++ == 0) {
        snprintf(dst->path, sizeof dst->path, "%s", path);
        snprintf(dst->was, sizeof dst->was, "%s", a ? a : "missing");
        snprintf(dst->is, sizeof dst->is, "%s", b ? b : "?");
    }
    free(a);
    free(b);
}

static void compare_values(const char *path, const json_t *was, const json_t *is,
                           struct run_difference *dst)
{
    char inner[128];
    const struct setting *s = setting_find(settings_of_run, path);
    const char *key;
    json_t *value;

    if (json_is_object(is) && (!was || json_is_object(was)))
        json_object_foreach((json_t *)is, key, value) {
            snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "." : "", key);
            compare_values(inner, json_object_get(was, key), value, dst);
        }
    else if (was || !s || !setting_json_is_preset(s, is) ? !json_equal(was, is) : s->expected)
        note_difference(path, was, is, dst);
}

/* Compares the values of a table's keys that only `was` has: keys of an earlier version, or those
 * that are in run.json only if they were set. */
static void compare_absent(const struct setting *table, const json_t *old, const json_t *new,
                           struct run_difference *dst)
{
    for (const struct setting *k = table; k->path; k++) {
        const json_t *was = run_plan_value(old, k->path);
        if (was && !run_plan_value(new, k->path) && !setting_json_is_preset(k, was)) {
            json_t *preset = json_loads(k->preset, JSON_DECODE_ANY, NULL);
            preset = preset ? preset : json_string(k->preset);
            note_difference(k->path, was, preset, dst);
            json_decref(preset);
        }
    }
}

int run_plan_compare(const char *old_text, const char *new_text, const char *study_dir,
                     struct run_difference *dst, struct err *e)
{
    size_t n = strlen(new_text);

    *dst = (struct run_difference){0};
    if (!study_dir && strncmp(old_text, new_text, n) == 0 &&
        !old_text[n + strspn(old_text + n, "\n")]) /* as nearly all are */
        return 0;
    json_t *was = run_plan_decode(old_text, study_dir, e);
    json_t *is = was ? run_plan_decode(new_text, NULL, e) : NULL;
    if (is) {
        compare_values("", was, is, dst);
        compare_absent(settings_gone, was, is, dst);
        compare_absent(settings_of_run, was, is, dst);
    }
    json_decref(was);
    json_decref(is);
    return is ? 0 : -1;
}
