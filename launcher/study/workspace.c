/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/workspace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/study/effect.h"
#include "src/cluster/range.h"
#include "src/log.h"

typedef struct scheduler *open_f(const struct scheduler_config *config, struct err *e);

static const char *const kinds[] = {"slurm", "local", "dry", NULL};
static open_f *const openers[] = {scheduler_slurm_open, scheduler_local_open, scheduler_dry_open};

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

/* Returns whether the Slurm of this study is that for which the user's shell has variables of
 * sbatch. */
static bool has_environment(const struct workspace *w)
{
    return strcmp(w->site.scheduler, "slurm") == 0 && !w->site.sandbox;
}

/* Takes the settings that no file and no option sets from variables of sbatch. */
static int add_environment(struct workspace *w, struct err *e)
{
    const struct sbatch_variable *v = sbatch_environment_variables;
    char path[SETTING_PATH_SIZE], where[64];

    for (; has_environment(w) && v->name; v++) {
        const char *value = v->rule == SBATCH_SETTING ? getenv(v->name) : NULL;
        if (!value)
            continue;
        snprintf(path, sizeof path, "slurm.%s", v->to);
        snprintf(where, sizeof where, "$%s", v->name);
        if (yaml_table_origin(settings_of_study, &w->study.origins, path)->layer == YAML_BUILTIN &&
            yaml_table_add_text(settings_of_study, path, value, YAML_SBATCH, where,
                                &w->study.settings, &w->study.origins, e))
            return -1;
    }
    return 0;
}

static bool is_from_variable(const struct workspace *w, const char *path)
{
    return yaml_table_origin(settings_of_study, &w->study.origins, path)->layer == YAML_SBATCH;
}

/* Removes the memory that a variable asks for if an option asks for it in another way: --mem,
 * --mem-per-cpu and --mem-per-gpu exclude each other. */
static void yield_memory(struct workspace *w)
{
    struct job_options *o = &w->options;

    if (o->mem != w->study.slurm.mem || !is_from_variable(w, "slurm.mem"))
        return;
    for (int i = 0; i < o->nextra; i++)
        if (strncmp(o->extra[i], "--mem-per-", strlen("--mem-per-")) == 0)
            o->mem = NULL;
}

/* Sets w->options from the study, its site, and words of the command line, which have precedence
 * in the reverse order. The site's settings for jobs have lower precedence than the study's own and
 * higher than those of the user's file. Variables of sbatch come last. */
static int merge_options(struct workspace *w, int nwords, char **words, struct err *e)
{
    const struct settings_slurm *o = &w->study.slurm;

    if (yaml_table_add_table(settings_of_study, "slurm", site_keys, &w->site, &w->site.origins,
                             &w->study.settings, &w->study.origins, e) ||
        yaml_table_add_table(settings_of_study, "", site_keys, &w->site, &w->site.origins,
                             &w->study.settings, &w->study.origins, e) ||
        add_environment(w, e))
        return -1;
    w->options = (struct job_options){
        .partition = text_or_null(o->partition),
        .account = text_or_null(o->account),
        .qos = text_or_null(o->qos),
        .constraint = text_or_null(o->constraint),
        .licenses = text_or_null(w->site.licenses),
        .mem = text_or_null(o->mem),
        .time_min = *o->time ? time_limit_decode(o->time) : 0,
        .in_sandbox = w->site.sandbox,
    };
    if ((has_environment(w) && sbatch_environment_take(&w->options, e)) ||
        take_words_of(w->site.file, "options", &w->site.slurm.options, &w->options, e) ||
        take_words_of(w->study.file, "slurm.options", &o->options, &w->options, e) ||
        job_options_decode(&w->options, nwords, words, e))
        return -1;
    yield_memory(w);
    w->options.given = words;
    w->options.ngiven = nwords;
    return 0;
}

static int check_kind(const char *kind, struct err *e)
{
    for (const char *const *known = kinds; *known; known++)
        if (strcmp(kind, *known) == 0)
            return 0;
    return err_set(e, ERR_USAGE, "--scheduler: unknown scheduler '%s'%s (known: slurm, local, dry)",
                   kind, cli_suggest(kind, kinds, (char[CLI_SUGGESTION]){0}));
}

/* Opens the site and chooses the scheduler for new jobs. With --scheduler local, a site with
 * another scheduler is replaced by the site "local". */
static int choose_site(struct workspace *w, const struct workspace_args *args, struct err *e)
{
    if (args->scheduler && check_kind(args->scheduler, e))
        return -1;
    if (site_open(&w->site, w->study.site, e))
        return -1;
    w->scheduler = args->scheduler ? args->scheduler : w->site.scheduler;
    if (strcmp(w->scheduler, "dry") == 0 || strcmp(w->scheduler, w->site.scheduler) == 0)
        return 0;
    if (strcmp(w->scheduler, "local") != 0)
        return err_set(e, ERR_CONFIG, "--scheduler %s: the site %s uses the scheduler %s; choose "
                       "another site with --site", w->scheduler, w->site.name, w->site.scheduler);
    site_close(&w->site);
    return site_open(&w->site, "local", e);
}

/* Stores --gpus, --engine, --model, --site and --seeds as settings of the study and returns the
 * number of those that are given. */
static size_t take_words(const struct workspace_args *args, char seeds[24],
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
static int open_study(struct workspace *w, const struct workspace_args *args,
                      const struct variant *variant, struct err *e)
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
    int rc = study_open(&w->study, args->dir, settings, args->set.count + n, e);
    for (size_t i = 0; i < args->set.count; i++)
        /* study_decode_set replaced the '=' by NUL; args may be used again */
        ((char *)settings[i].value)[-1] = '=';
    w->study.variant = rc == 0 && variant ? variant->name : NULL;
    return rc;
}

static int open_with_words(struct workspace *w, const struct workspace_args *args,
                           const struct variant *variant, int nwords, char **words, struct err *e)
{
    *w = (struct workspace){.ledger.lock_fd = -1};
    if ((args->engine && !engine_find(args->engine, e)) || open_study(w, args, variant, e) ||
        choose_site(w, args, e) || merge_options(w, nwords, words, e) ||
        ledger_open(&w->ledger, w->study.dir, e)) {
        workspace_close(w);
        return -1;
    }
    w->max_in_flight = args->max_in_flight;
    w->take_over = args->take_over;
    w->after = &args->after;
    w->gpus = w->study.gpus;
    w->seeds = w->study.seeds;
    w->templates = args->templates ? args->templates : w->study.templates;
    return 0;
}

int workspace_open(struct workspace *w, const struct workspace_args *args, struct err *e)
{
    return open_with_words(w, args, NULL, 0, NULL, e);
}

/* Refuses two variants whose runs would have equal settings. */
static int check_variants(const struct workspace *w, struct err *e)
{
    const struct variants *v = &w->variants;
    char *text[VARIANTS_MAX] = {NULL};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < v->count; i++) {
        const struct study *study = &w->of_variants[i].study;
        struct run run = {.study = study, .engine = engine_find(study->engine, e),
                          .layout = {.gpus = 1},
                          .dtype = run_plan_dtype(study, &w->of_variants[i].site)};
        text[i] = run_plan_encode("", &run, e);
        rc = text[i] ? 0 : -1;
        for (size_t k = 0; rc == 0 && k < i; k++)
            if (strcmp(text[i], text[k]) == 0 &&
                strcmp(study->container, w->of_variants[k].study.container) == 0)
                rc = err_set(e, ERR_CONFIG, "the variants %s and %s have the same settings: it would "
                             "be a variant that two runs share; leave one out", v->at[k].name,
                             v->at[i].name);
    }
    for (size_t i = 0; i < v->count; i++)
        free(text[i]);
    return rc;
}

int workspace_open_variants(struct workspace *w, const struct workspace_args *args,
                            int nwords, char **words, struct err *e)
{
    size_t n = 0;

    if (variant_list_create(&w->study, &args->vary, &w->variants, e))
        return -1;
    w->of_variants = calloc(w->variants.count + 1, sizeof *w->of_variants);
    if (!w->of_variants)
        return err_errno(e, ERR_INTERNAL, ENOMEM, "variants");
    while (n < w->variants.count && open_with_words(&w->of_variants[n], args, &w->variants.at[n],
                                                    nwords, words, e) == 0)
        n++;
    bool all = n == w->variants.count;
    for (size_t i = n; i < w->variants.count; i++)
        setting_clear_lines(&w->variants.at[i].set);
    w->variants.count = n; /* those that workspace_close closes */
    if (!all && !args->vary.count) {
        e->code = e->code == ERR_USAGE ? ERR_CONFIG : e->code;
        err_prefix(e, "%s", study_place(&w->study, "variants"));
    }
    return all ? check_variants(w, e) : -1;
}

void workspace_close(struct workspace *w)
{
    for (size_t i = 0; w->of_variants && i < w->variants.count; i++)
        workspace_close(&w->of_variants[i]);
    free(w->of_variants);
    variant_list_destroy(&w->variants);
    for (int i = 0; i < WORKSPACE_NKINDS; i++)
        scheduler_close(w->open[i]);
    free(w->excluded);
    ledger_close(&w->ledger);
    site_close(&w->site);
    study_close(&w->study);
    *w = (struct workspace){.ledger.lock_fd = -1};
}

int workspace_check_shipped(const struct workspace *w, struct err *e)
{
    const struct settings_program *section = study_engine(&w->study, w->study.engine);
    const struct engine *engine = engine_find(w->study.engine, e);

    if (!section || *section->script || *w->templates || !engine || !engine->script ||
        strcmp(w->study.model.batch_norm, "sync") != 0)
        return 0;
    return err_set(e, ERR_CONFIG, "%s: model.batch_norm sync: the script of unetctl for the engine "
                   "%s has local or none; type --set model.batch_norm=local, or set it there",
                   study_place(&w->study, "model.batch_norm"), w->study.engine);
}

static int plan_one(const struct workspace *w, struct run_plan *dst, struct err *e)
{
    *dst = (struct run_plan){0};
    return workspace_check_shipped(w, e) || effect_check(&w->study, &w->ledger, w->gpus, e)
               ? -1
               : run_plan_compute(&w->study, &w->site, w->gpus, w->seeds, dst, e);
}

static int compare_runs(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    int gpus = x->layout.gpus - y->layout.gpus, seed = x->seed - y->seed;

    return gpus ? gpus : seed ? seed : (x->study > y->study) - (x->study < y->study);
}

int workspace_plan(const struct workspace *w, struct run_plan *dst, struct err *e)
{
    size_t n = w->variants.count;

    if (!n)
        return plan_one(w, dst, e);
    *dst = (struct run_plan){0};
    for (size_t v = 0; v < n; v++) {
        struct run_plan one;
        if (plan_one(&w->of_variants[v], &one, e)) {
            run_plan_destroy(dst);
            return err_prefix(e, "variant %s", w->variants.at[v].name);
        }
        struct run *grown = realloc(dst->runs, (dst->count + one.count + 1) * sizeof *grown);
        for (size_t i = 0; grown && i < one.count; i++)
            grown[dst->count++] = one.runs[i];
        run_plan_destroy(&one);
        if (!grown)
            return err_errno(e, ERR_INTERNAL, ENOMEM, "plan");
        dst->runs = grown;
    }
    qsort(dst->runs, dst->count, sizeof *dst->runs, compare_runs);
    return 0;
}

static int check_one_allocation(const struct workspace *w, struct err *e)
{
    if (strcmp(w->site.scheduler, "slurm") != 0)
        return err_set(e, ERR_USAGE, "--one-allocation needs Slurm; the local queue starts "
                       "max_in_flight runs at once (%s)", w->site.file);
    if (w->max_in_flight)
        return err_set(e, ERR_USAGE, "--one-allocation submits one job, which starts as many runs "
                       "as fit: leave out --max-in-flight");
    return 0;
}

int workspace_open_jobs(struct workspace *w, const struct workspace_args *args, int nwords,
                        char **words, struct err *e)
{
    struct buf unused = {0};

    if (open_with_words(w, args, NULL, nwords, words, e))
        return -1;
    if (workspace_open_variants(w, args, nwords, words, e)) {
        workspace_close(w);
        return -1;
    }
    w->one_allocation = args->one_allocation;
    if (w->one_allocation && check_one_allocation(w, e)) {
        workspace_close(w);
        return -1;
    }
    if (has_environment(w))
        sbatch_environment_unused(&unused);
    if (unused.length)
        log_info("not used: %s", unused.data);
    buf_destroy(&unused);
    return 0;
}

struct scheduler *workspace_scheduler(struct workspace *w, const char *kind, struct err *e)
{
    long jobs = w->max_in_flight ? w->max_in_flight : w->site.max_in_flight;
    struct scheduler_config config = {.sandbox = w->site.sandbox,
                                      .interface = w->study.slurm.interface,
                                      .clusters = w->options.clusters,
                                      .max_in_flight = (int)jobs};

    for (int i = 0; i < WORKSPACE_NKINDS; i++) {
        if (strcmp(kinds[i], kind) != 0)
            continue;
        if (!w->open[i])
            w->open[i] = openers[i](&config, e);
        return w->open[i];
    }
    err_set(e, ERR_CONFIG, "the ledger names an unknown scheduler '%s'", kind);
    return NULL;
}
