/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/study/plan.h"

#include "launcher/scheduler/scheduler.h"
#include "launcher/study/workspace.h"
#include "src/cluster/range.h"
#include "src/settings/settings.h"

#define MAX_RUNS 100000

const char *const plan_schedulers[] = {"slurm", "local", "dry", "sandbox", NULL};

/* ---- the study and its site ---- */

/* Stores --gpus, --engine, --model, --site and --seeds as settings of the study and returns the
 * number of those that are given. */
static size_t take_words(const struct plan_args *args, char seeds[24],
                         struct yaml_setting *dst)
{
    size_t n = 0;

    if (args->gpus)
        dst[n++] = (struct yaml_setting){"gpus", args->gpus, "--gpus"};
    if (args->engine)
        dst[n++] = (struct yaml_setting){"engine", args->engine, "--engine"};
    if (args->model)
        dst[n++] = (struct yaml_setting){"model.name", args->model, "--model"};
    if (args->site)
        dst[n++] = (struct yaml_setting){"site", args->site, "--site"};
    if (args->seeds) {
        snprintf(seeds, 24, "%ld", args->seeds);
        dst[n++] = (struct yaml_setting){"seeds", seeds, "--seeds"};
    }
    return n;
}

/* Stores the settings of a variant and returns their number. */
static size_t take_variant(const struct variant *variant, const char *where,
                           struct yaml_setting *dst)
{
    const struct setting_lines *set = &variant->set;

    for (size_t i = 0; i < set->count; i++) {
        char *equals = strchr(set->lines[i], '=');
        *equals = 0;
        dst[i] = (struct yaml_setting){set->lines[i], equals + 1, where};
    }
    return set->count;
}

/* variant: whose settings come last, or NULL */
static int open_study(const struct plan_args *args, const struct variant *variant,
                      struct study *dst, struct err *e)
{
    struct yaml_setting settings[2 * CLI_LIST_MAX + 5];
    char seeds[24], where[VARIANT_NAME_SIZE + 16];
    size_t n = take_words(args, seeds, settings + args->set.count);

    if (variant && variant->set.count > CLI_LIST_MAX)
        return err_set(e, ERR_CONFIG, "variant %s has too many settings", variant->name);
    if (study_decode_set(&args->set, settings, e))
        return -1;
    snprintf(where, sizeof where, "variant %s", variant ? variant->name : "");
    if (variant)
        n += take_variant(variant, where, settings + args->set.count + n);
    int rc = study_open(dst, args->dir, settings, args->set.count + n, e);
    for (size_t i = 0; i < args->set.count; i++)
        /* study_decode_set replaced the '=' by NUL; args may be used again */
        ((char *)settings[i].value)[-1] = '=';
    dst->variant = rc == 0 && variant ? variant->name : NULL;
    return rc;
}

static int choose_site(struct plan *p, const struct plan_args *args, struct err *e)
{
    if (args->scheduler &&
        cli_choose(args->scheduler, plan_schedulers, "--scheduler: unknown scheduler", e) < 0)
        return -1;
    if (site_open(&p->site, p->study.site, e))
        return -1;
    p->scheduler = args->scheduler ? args->scheduler : p->site.scheduler;
    if (strcmp(p->scheduler, "dry") == 0 || strcmp(p->scheduler, p->site.scheduler) == 0)
        return 0;
    if (strcmp(p->scheduler, "local") != 0)
        return err_set(e, ERR_CONFIG, "--scheduler %s: the site %s uses the scheduler %s; choose "
                       "another site with --site", p->scheduler, p->site.name, p->site.scheduler);
    site_close(&p->site);
    return site_open(&p->site, "local", e);
}

/* ---- options of jobs ---- */

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

/* Adds the options of sbatch that a file lists, one per item. */
static int take_words_of(const char *file, const char *key, const struct setting_lines *list,
                         struct job_options *dst, struct err *e)
{
    if (job_options_decode(dst, (int)list->count, list->lines, e) == 0)
        return 0;
    e->code = ERR_CONFIG;
    return err_prefix(e, "%s: %s", file, key);
}

/* Returns whether the Slurm of this site is that for which the user's shell has variables of
 * sbatch. */
static bool has_environment(const struct site *site)
{
    return strcmp(site->scheduler, "slurm") == 0 && !site->sandbox;
}

/* Takes the settings that no file and no option sets from variables of sbatch. */
static int add_environment(const struct site *site, struct study *s, struct err *e)
{
    const struct sbatch_variable *v = sbatch_environment_variables;
    char path[SETTING_PATH_SIZE], where[64];

    for (; has_environment(site) && v->name; v++) {
        const char *value = v->rule == SBATCH_SETTING ? getenv(v->name) : NULL;
        if (!value)
            continue;
        snprintf(path, sizeof path, "slurm.%s", v->to);
        snprintf(where, sizeof where, "$%s", v->name);
        if (yaml_table_origin(settings_of_study, &s->origins, path)->layer == YAML_BUILTIN &&
            yaml_table_add_text(settings_of_study, path, value, YAML_SBATCH, where, &s->settings,
                                &s->origins, e))
            return -1;
    }
    return 0;
}

/* Adds the site's settings for jobs, which have lower precedence than the study's own and higher
 * than those of the user's file, and after them variables of sbatch. */
static int add_site(const struct site *site, struct study *s, struct err *e)
{
    return yaml_table_add_table(settings_of_study, "slurm", site_keys, site, &site->origins,
                                &s->settings, &s->origins, e) ||
                   yaml_table_add_table(settings_of_study, "", site_keys, site, &site->origins,
                                        &s->settings, &s->origins, e) ||
                   add_environment(site, s, e)
               ? -1
               : 0;
}

/* Removes the memory that a variable asks for if an option asks for it in another way: --mem,
 * --mem-per-cpu and --mem-per-gpu exclude each other. */
static void yield_memory(struct plan *p)
{
    struct job_options *o = &p->options;

    if (o->mem != p->study.slurm.mem ||
        yaml_table_origin(settings_of_study, &p->study.origins, "slurm.mem")->layer != YAML_SBATCH)
        return;
    for (int i = 0; i < o->nextra; i++)
        if (text_begins(o->extra[i], "--mem-per-"))
            o->mem = NULL;
}

/* Sets p->options from the study, its site, and words of the command line, which have precedence
 * in the reverse order. */
static int merge_options(struct plan *p, int nwords, char **words, struct err *e)
{
    const struct settings_slurm *o = &p->study.slurm;

    p->options = (struct job_options){
        .partition = text_or_null(o->partition),
        .account = text_or_null(o->account),
        .qos = text_or_null(o->qos),
        .constraint = text_or_null(o->constraint),
        .licenses = text_or_null(p->site.licenses),
        .mem = text_or_null(o->mem),
        .time_min = *o->time ? time_limit_decode(o->time) : 0,
        .unlimited = *o->time && time_limit_decode(o->time) == 0,
        .in_sandbox = p->site.sandbox,
    };
    if ((has_environment(&p->site) && sbatch_environment_take(&p->options, e)) ||
        take_words_of(p->site.file, "options", &p->site.slurm.options, &p->options, e) ||
        take_words_of(p->study.file, "slurm.options", &o->options, &p->options, e) ||
        job_options_decode(&p->options, nwords, words, e))
        return -1;
    yield_memory(p);
    p->options.given = words;
    p->options.ngiven = nwords;
    return 0;
}

int plan_open(struct plan *p, const struct plan_args *args, int nwords, char **words,
              struct err *e)
{
    *p = (struct plan){.study_id = "", .after = &args->after, .max_in_flight = args->max_in_flight};
    if ((args->engine && !engine_find(args->engine, e)) || open_study(args, NULL, &p->study, e) ||
        choose_site(p, args, e) || add_site(&p->site, &p->study, e) ||
        merge_options(p, nwords, words, e))
        return -1;
    p->templates = args->templates ? args->templates : p->study.templates;
    return 0;
}

/* ---- variants ---- */

struct list {
    struct variant *at;
    size_t count, capacity;
};

static void close_list(struct list *v)
{
    for (size_t i = 0; i < v->count; i++) {
        setting_clear_lines(&v->at[i].set);
        study_close(&v->at[i].study);
    }
    free(v->at);
    *v = (struct list){0};
}

/* Adds a variant with the settings of `from`, which may be NULL. Returns it, or NULL. */
static struct variant *add(struct list *v, const char *name, const struct variant *from,
                           struct err *e)
{
    if (mem_grow(&v->at, v->count, &v->capacity, sizeof *v->at, e))
        return NULL;
    if (v->count == VARIANTS_MAX)
        return err_set(e, ERR_USAGE, "there are more than %d variants", VARIANTS_MAX), NULL;
    if (strlen(name) >= VARIANT_NAME_SIZE)
        return err_set(e, ERR_USAGE, "the name of the variant %s has more than %d characters; choose "
                       "one in study.yaml (variants)", name, VARIANT_NAME_SIZE - 1), NULL;
    struct variant *added = &v->at[v->count++];
    *added = (struct variant){0};
    snprintf(added->name, sizeof added->name, "%s", name);
    for (size_t i = 0; from && i < from->set.count; i++)
        if (setting_append_line(&added->set, from->set.lines[i], e))
            return NULL;
    return added;
}

/* Adds KEY=VALUE. What all runs share, or what does not belong to a training, is refused. */
static int add_setting(struct variant *v, const char *line, struct err *e)
{
    static const char *const shared[] = {"gpus=", "seeds=", "data.folds=", "name=", "site=",
                                         "slurm.", "variants="};

    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (text_begins(line, shared[i]))
            return err_set(e, ERR_USAGE, "variant %s: %.*s is not a setting of a variant: all runs "
                           "of a study share it", v->name, (int)strcspn(line, "="), line);
    return setting_append_line(&v->set, line, e);
}

/* Reads the lines "NAME" and "NAME KEY=VALUE" of study.yaml. */
static int take_study(const struct setting_lines *lines, struct list *v, struct err *e)
{
    char name[SETTING_PATH_SIZE];

    for (size_t i = 0; i < lines->count; i++) {
        const char *line = lines->lines[i], *space = strchr(line, ' ');
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " "), line);
        if ((!v->count || strcmp(v->at[v->count - 1].name, name) != 0) && !add(v, name, NULL, e))
            return -1;
        if (space && add_setting(&v->at[v->count - 1], space + 1, e))
            return -1;
    }
    return 0;
}

/* Adds a value to a variant's name: "bf16", but "lr0.1" of train.lr, and "six-true" of
 * augment.six. */
static void name_value(const char *key, const char *value, char *dst, size_t size)
{
    const char *leaf = setting_leaf(key);
    bool word = isalpha((unsigned char)*value), is_switch = strcmp(value, "true") == 0 ||
                                                            strcmp(value, "false") == 0;
    size_t n = strlen(dst);

    snprintf(dst + n, size - n, "%s%s%s%s", n ? "-" : "", word && !is_switch ? "" : leaf,
             is_switch ? "-" : "", value);
    for (char *p = dst + n; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-')
            *p = '-';
}

/* Replaces the variants by all combinations of them and the values of "KEY=VALUE,VALUE". */
static int multiply(const char *vary, struct list *v, struct err *e)
{
    const char *equals = strchr(vary, '=');
    struct list product = {0};
    const struct variant none = {0};
    char key[SETTING_PATH_SIZE], value[256], name[512], line[sizeof key + sizeof value];
    int rc = 0;

    if (!equals || !equals[1])
        return err_set(e, ERR_USAGE, "--vary %s: must be KEY=VALUE,VALUE", vary);
    snprintf(key, sizeof key, "%.*s", (int)(equals - vary), vary);
    for (size_t i = 0; rc == 0 && i < (v->count ? v->count : 1); i++)
        for (const char *p = equals; rc == 0 && *p; p += 1 + strcspn(p + 1, ",")) {
            const struct variant *from = v->count ? &v->at[i] : &none;
            snprintf(value, sizeof value, "%.*s", (int)strcspn(p + 1, ","), p + 1);
            snprintf(line, sizeof line, "%s=%s", key, value);
            snprintf(name, sizeof name, "%s", from->name);
            name_value(key, value, name, sizeof name);
            struct variant *own = add(&product, name, from, e);
            rc = own ? add_setting(own, line, e) : -1;
        }
    close_list(v);
    *v = product;
    return rc ? err_prefix(e, "--vary %s", vary) : 0;
}

static int list_variants(const struct study *s, const struct cli_list *vary, struct list *dst,
                         struct err *e)
{
    if (take_study(&s->variants, dst, e)) {
        e->code = ERR_CONFIG;
        return err_prefix(e, "%s", study_place(s, "variants"));
    }
    for (size_t i = 0; i < vary->count; i++)
        if (multiply(vary->values[i], dst, e))
            return -1;
    for (size_t i = 0; i < dst->count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(dst->at[i].name, dst->at[k].name) == 0)
                return err_set(e, ERR_USAGE, "two variants have the name %s", dst->at[i].name);
    return 0;
}

/* Refuses two variants whose runs would have equal settings. */
static int check_variants(const struct plan *p, struct err *e)
{
    char *text[VARIANTS_MAX] = {NULL};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < p->nvariants; i++) {
        const struct study *study = &p->variants[i].study;
        struct run run = {.study = study, .engine = engine_find(study->engine, e),
                          .layout = {.gpus = 1}, .dtype = plan_dtype(study, &p->site)};
        text[i] = run_json_encode("", &run, e);
        rc = text[i] ? 0 : -1;
        for (size_t k = 0; rc == 0 && k < i; k++)
            if (strcmp(text[i], text[k]) == 0 &&
                strcmp(study->container, p->variants[k].study.container) == 0)
                rc = err_set(e, ERR_CONFIG, "the variants %s and %s have the same settings: it would "
                             "be a variant that two runs share; leave one out", p->variants[k].name,
                             p->variants[i].name);
    }
    for (size_t i = 0; i < p->nvariants; i++)
        free(text[i]);
    return rc;
}

int plan_open_variants(struct plan *p, const struct plan_args *args, struct err *e)
{
    struct list list = {0};
    int rc = list_variants(&p->study, &args->vary, &list, e);
    bool are_listed = rc == 0;

    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        struct study *own = &list.at[i].study;
        rc = open_study(args, &list.at[i], own, e) || add_site(&p->site, own, e) ? -1 : 0;
    }
    p->variants = list.at;
    p->nvariants = list.count;
    if (rc && are_listed && !args->vary.count) {
        e->code = e->code == ERR_USAGE ? ERR_CONFIG : e->code;
        err_prefix(e, "%s", study_place(&p->study, "variants"));
    }
    return rc ? -1 : check_variants(p, e);
}

void plan_close(struct plan *p)
{
    struct list list = {.at = p->variants, .count = p->nvariants};

    close_list(&list);
    plan_free_runs(p);
    site_close(&p->site);
    study_close(&p->study);
    *p = (struct plan){0};
}

/* ---- runs ---- */

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

long plan_constant_batch(const struct study *s)
{
    return s->train.batch_per_gpu ? 0 : s->train.global_batch;
}

struct run_batch plan_run_batch(const struct run *run)
{
    const struct study *s = run->study;
    long each = s->train.batch_per_gpu;
    long all = run->batch ? run->batch : plan_constant_batch(s);
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

void plan_label(const struct study *study, const struct engine *engine,
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

const char *plan_dtype(const struct study *study, const struct site *site)
{
    const char *word = study->train.dtype, *backend = study->train.backend, *begun;
    char label[RUN_LABEL_SIZE];
    struct err ignored;
    const struct engine *engine = engine_find(study->engine, &ignored);
    bool on_cpu = strcmp(backend, "auto") == 0 ? site_has_fake_gpus(site)
                                               : strcmp(backend, "cuda") != 0;

    if (strcmp(word, "auto") != 0 || !engine)
        return word;
    plan_label(study, engine, label);
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
    plan_label(study, dst->engine, label);
    snprintf(dst->id, sizeof dst->id, RUN_ID_FORMAT, label, gpus, (long)seed);
    return 0;
}

static int compare_runs(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    int gpus = x->layout.gpus - y->layout.gpus, seed = x->seed - y->seed;

    return gpus ? gpus : seed ? seed : (x->study > y->study) - (x->study < y->study);
}

/* Returns whether the counts share a batch of all GPUs: that of another engine than the embedded
 * one, which needs equal shares. */
static bool shares_equally(const struct study *s, const struct engine *engine)
{
    return !engine->embedded && plan_constant_batch(s) && study_has(s, "train.global_batch");
}

/* Refuses a number of GPUs that does not divide the batch, with those that do. */
static int check_shares(const struct study *s, const struct engine *engine, long batch, int gpus,
                        struct err *e)
{
    struct buf text = {0};
    struct range counts;
    struct err ignored;

    if (batch % gpus == 0)
        return 0;
    if (range_decode(s->gpus, 1, SETTINGS_GPUS_MAX, &counts, &ignored) == 0) {
        for (size_t i = 0; i < counts.count; i++)
            if (batch % counts.values[i] == 0)
                buf_addf(&text, "%s%d", text.length ? "," : "; type --gpus ", counts.values[i]);
        range_destroy(&counts);
    }
    err_set(e, ERR_CONFIG, "%s: %d GPUs cannot share train.global_batch %ld equally, as engine %s "
            "needs%s%s set another train.global_batch", study_place(s, "train.global_batch"), gpus,
            batch, engine->name, text.length ? text.data : "", text.length ? ", or" : ":");
    buf_destroy(&text);
    return -1;
}

/* Refuses to continue a study whose runs began when engines other than the embedded one gave the
 * whole train.global_batch to each GPU. */
static int check_meaning(const struct study *s, const struct engine *engine, struct err *e)
{
    char label[RUN_LABEL_SIZE], *text = NULL;
    struct setting_lines ids;
    struct err ignored;
    struct run run;
    int rc = 0;

    if (run_dir_list(s->dir, &ids, &ignored))
        return 0;
    plan_label(s, engine, label);
    size_t n = strlen(label);
    for (size_t i = 0; i < ids.count && rc == 0; i++) {
        if (strncmp(ids.lines[i], label, n) != 0 || strncmp(ids.lines[i] + n, "-g", 2) != 0 ||
            run_dir_never_trained(s->dir, ids.lines[i]) ||
            run_dir_read(s->dir, ids.lines[i], &run, &text, &ignored))
            continue;
        json_t *plan = run_json_decode(text, NULL, &ignored);
        long each = (long)json_integer_value(run_json_value(plan, "train.batch_per_gpu"));
        if (each && !json_integer_value(run_json_value(plan, "train.global_batch")))
            rc = err_set(e, ERR_CONFIG, "%s: train.global_batch %d is the batch of all GPUs, and "
                         "run %s began with %ld for each GPU; set train.batch_per_gpu: %ld and "
                         "train.global_batch: 0 to continue with that, or make another study with "
                         "'unetctl init'", study_place(s, "train.global_batch"),
                         s->train.global_batch, ids.lines[i], each, each);
        json_decref(plan);
        free(text);
        text = NULL;
    }
    setting_clear_lines(&ids);
    return rc;
}

double plan_mem_gb(const struct study *s)
{
    long mib = *s->slurm.mem ? job_mem_decode(s->slurm.mem) : 0;

    return mib > 0 ? (double)mib / 1024 : 0;
}

const char *plan_refusal(const struct study *s, int gpus)
{
    for (size_t i = 0; i < s->expect.count; i++)
        if (atoi(s->expect.lines[i]) == gpus)
            return strchr(s->expect.lines[i], '=') + 1;
    return NULL;
}

static int add_runs(const struct study *study, const struct range *counts, long seeds,
                    struct plan *dst, struct err *e)
{
    const char *dtype = plan_dtype(study, &dst->site);
    const struct engine *engine = engine_find(study->engine, e);

    if (engine && shares_equally(study, engine)) {
        if (check_meaning(study, engine, e))
            return -1;
        for (size_t i = 0; i < counts->count; i++)
            if (!plan_refusal(study, counts->values[i]) &&
                check_shares(study, engine, study->train.global_batch, counts->values[i], e))
                return -1;
    }
    for (size_t i = 0; i < counts->count; i++)
        for (int seed = 1; seed <= seeds && !plan_refusal(study, counts->values[i]); seed++) {
            struct run *run = &dst->runs[dst->count++];
            run->dtype = dtype;
            if (compute_run(study, &dst->site, counts->values[i], seed, run, e))
                return -1;
        }
    return 0;
}

long plan_seeds(const struct study *s)
{
    return (long)s->seeds * (s->data.folds ? s->data.folds : 1);
}

int plan_fold(const struct study *s, int seed)
{
    return s->data.folds ? (seed - 1) % s->data.folds + 1 : 0;
}

void plan_split_file(const struct study *s, int fold, char dst[PATH_MAX])
{
    if (fold > 1)
        snprintf(dst, PATH_MAX, "%s/split-%d.json", s->dir, fold);
    else
        snprintf(dst, PATH_MAX, "%s/split.json", s->dir);
}

int plan_compute(const struct plan *p, const char *gpus, long seeds, struct plan *dst,
                 struct err *e)
{
    size_t n = p->nvariants ? p->nvariants : 1;
    struct range counts;
    int rc = 0;

    if (dst != p)
        *dst = *p;
    dst->runs = NULL;
    dst->count = 0;
    if (range_decode(gpus, 1, SETTINGS_GPUS_MAX, &counts, e))
        return err_prefix(e, "--gpus");
    if (counts.count > (size_t)(MAX_RUNS / seeds)) {
        err_set(e, ERR_USAGE,
                "%zu numbers of GPUs x %ld seeds are more than %d runs, the limit of a study",
                counts.count, seeds, MAX_RUNS);
        range_destroy(&counts);
        return -1;
    }
    dst->runs = mem_zero(counts.count * (size_t)seeds * n, sizeof *dst->runs, e);
    rc = dst->runs ? 0 : -1;
    for (size_t v = 0; rc == 0 && v < n; v++) {
        rc = add_runs(p->nvariants ? &p->variants[v].study : &p->study, &counts, seeds, dst, e);
        if (rc && p->nvariants)
            err_prefix(e, "variant %s", p->variants[v].name);
    }
    if (rc == 0 && dst->count == 0)
        rc = err_set(e, ERR_USAGE, "--gpus %s: none of these runs, by %s: %s", gpus,
                     study_place(&p->study, "expect"), plan_refusal(&p->study, counts.values[0]));
    range_destroy(&counts);
    if (rc)
        plan_free_runs(dst);
    else if (p->nvariants)
        qsort(dst->runs, dst->count, sizeof *dst->runs, compare_runs);
    return rc;
}

void plan_free_runs(struct plan *p)
{
    free(p->runs);
    p->runs = NULL;
    p->count = 0;
}

int plan_resize_run(const struct site *site, struct run *run, int gpus, bool scale, struct err *e)
{
    const struct study *study = run->study;
    const struct settings_program *section = study_engine(study, run->engine->name);
    int planned = run->layout.gpus;

    if (section && !section->resumes)
        return err_set(e, ERR_CONFIG, "%s: engine %s cannot continue from a checkpoint, and so not "
                       "with another number of GPUs (its section does not have 'resumes: true')",
                       run->id, run->engine->name);
    long constant = plan_constant_batch(study);

    if (scale && constant)
        return err_set(e, ERR_CONFIG, "%s: --scale-batch: the study sets the batch over all GPUs "
                       "(train.global_batch); leave the option out", run->id);
    if (gpus == planned)
        return 0;
    run->resized = true;
    if (!scale && !constant) {
        run->batch = plan_run_batch(run).global *
                     (run->engine->embedded ? study->train.accumulate : 1);
        run->rate_gpus = planned;
    }
    long all = run->batch ? run->batch : constant;
    if (choose_layout(study, site, gpus, run, e) ||
        (all && !run->engine->embedded && study_has(study, "train.batch_per_gpu") &&
         check_shares(study, run->engine, all, gpus, e)))
        return err_prefix(e, "%s", run->id);
    return 0;
}

int plan_check_shipped(const struct plan *p, const struct study *study, struct err *e)
{
    const struct settings_program *section = study_engine(study, study->engine);
    const struct engine *engine = engine_find(study->engine, e);

    if (!section || *section->script || *p->templates || !engine || !engine->script)
        return 0;
    const char *own = *study->model.init ? "model.init" : *study->model.freeze ? "model.freeze" : "";
    if (*own)
        return err_set(e, ERR_CONFIG, "%s: %s: the script of unetctl for the engine %s trains all of "
                       "a network from random weights; leave it out, or use engine: embedded",
                       study_place(study, own), own, study->engine);
    for (const struct setting *s = settings_of_study; s->path; s++)
        if (setting_is_in(s, "augment", strlen("augment")) &&
            !setting_is_preset(s, &study->settings))
            return err_set(e, ERR_CONFIG, "%s: %s: the script of unetctl for the engine %s does "
                           "not augment images; leave it out, or use engine: embedded",
                           study_place(study, s->path), s->path, study->engine);
    if (strcmp(study->model.batch_norm, "sync") != 0)
        return 0;
    return err_set(e, ERR_CONFIG, "%s: model.batch_norm sync: the script of unetctl for the engine "
                   "%s has local or none; type --set model.batch_norm=local, or set it there",
                   study_place(study, "model.batch_norm"), study->engine);
}
