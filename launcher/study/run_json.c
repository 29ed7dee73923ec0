/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/study/plan.h"

#include "src/format/schema.h"

/* ---- values of settings ---- */

json_t *setting_json_encode(const struct setting *s, const void *src)
{
    const void *at = (const char *)src + s->offset;
    const struct setting_lines *list = at;
    const char *text;
    json_t *items;

    switch (s->type) {
    case SETTING_INT: return json_integer(*(const int *)at);
    case SETTING_REAL: return json_real(*(const double *)at);
    case SETTING_SWITCH: return json_boolean(*(const bool *)at);
    case SETTING_LINES:
    case SETTING_PAIRS:
    case SETTING_VARIANTS:
        items = json_array();
        for (size_t i = 0; i < list->count; i++)
            json_array_append_new(items, json_string(list->lines[i]));
        return items;
    default:
        text = *(const char *const *)at;
        return json_string(text ? text : "");
    }
}

bool setting_json_is_preset(const struct setting *s, const json_t *value)
{
    const char *text = json_is_boolean(value) ? (json_is_true(value) ? "true" : "false")
                                              : json_string_value(value);

    const char *preset = setting_absent(s);

    if (!preset)
        return false;
    if (json_is_number(value))
        return strtod(preset, NULL) == json_number_value(value);
    return text ? strcmp(preset, text) == 0 : json_array_size(value) == 0 && !*preset;
}

/* ---- run.json ---- */

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
    plan_split_file(s, plan_fold(s, run->seed), split);
    c.study = s->name;
    c.study_id = (char *)study_id;
    c.run = (char *)run->id;
    c.engine = run->engine->name;
    c.seed = run->seed;
    c.data.dir = path;
    c.data.split = split;
    c.data.fold = c.data.folds ? plan_fold(s, run->seed) : 1;
    c.model.base = study_base(s);
    c.model.depth = study_depth(s);
    c.train.batch_per_gpu = (int)plan_run_batch(run).per_gpu;
    c.train.global_batch = (int)(run->batch ? run->batch : plan_constant_batch(s));
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
    json_object_set_new(object, setting_leaf(s->path), setting_json_encode(s, c));
}

/* Adds a mapping of the study to run.json's program if a variant or the command line set a name of
 * it. */
static void encode_pairs(const struct study *s, const char *path, json_t *program)
{
    const struct setting *k = setting_find(settings_of_study, path);

    if (s->origins.at[k - settings_of_study].layer == YAML_COMMAND)
        json_object_set_new(program, setting_leaf(k->path), setting_json_encode(k, &s->settings));
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

char *run_json_encode(const char *study_id, const struct run *run, struct err *e)
{
    char path[PATH_MAX], split[PATH_MAX];
    struct settings c = settings_of(run, study_id, path, split);
    json_t *root = json_pack("{s:i}", "schema", SCHEMA);

    for (const struct setting *k = settings_of_run; k->path; k++)
        if (has_key(run->study, k, &c))
            encode_setting(root, k, &c);
    if (!run->engine->embedded)
        json_object_set_new(root, "program", encode_program(run));
    char *dumped = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    char *text = dumped ? mem_textf(NULL, "%s\n", dumped) : NULL;

    if (!text)
        err_set(e, ERR_INTERNAL, "%s: out of memory", run->id);
    free(dumped);
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

const char *run_json_study_dir(const json_t *plan, size_t *length)
{
    const char *split = json_string_value(json_object_get(json_object_get(plan, "data"), "split"));
    const char *slash = split ? strrchr(split, '/') : NULL, *dir;

    if (slash)
        return *length = (size_t)(slash - split), split;
    dir = json_string_value(json_object_get(json_object_get(plan, "program"), "study_dir"));
    *length = dir ? strlen(dir) : 0;
    return dir;
}

json_t *run_json_decode(const char *text, const char *study_dir, struct err *e)
{
    json_error_t error;
    json_t *plan = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    size_t n;
    const char *dir = run_json_study_dir(plan, &n);
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

const json_t *run_json_value(const json_t *plan, const char *key)
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
        const json_t *was = run_json_value(old, k->path);
        if (was && !run_json_value(new, k->path) && !setting_json_is_preset(k, was)) {
            json_t *preset = json_loads(k->preset, JSON_DECODE_ANY, NULL);
            preset = preset ? preset : json_string(k->preset);
            note_difference(k->path, was, preset, dst);
            json_decref(preset);
        }
    }
}

int run_json_compare(const char *old_text, const char *new_text, const char *study_dir,
                     struct run_difference *dst, struct err *e)
{
    *dst = (struct run_difference){0};
    if (!study_dir && strcmp(old_text, new_text) == 0) /* as nearly all are */
        return 0;
    json_t *was = run_json_decode(old_text, study_dir, e);
    json_t *is = was ? run_json_decode(new_text, NULL, e) : NULL;
    if (is) {
        compare_values("", was, is, dst);
        compare_absent(settings_gone, was, is, dst);
        compare_absent(settings_of_run, was, is, dst);
    }
    json_decref(was);
    json_decref(is);
    return is ? 0 : -1;
}
