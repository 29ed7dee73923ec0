/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/workspace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/run_dir.h"
#include "launcher/script.h"
#include "src/atomicfile.h"

static const char *const kinds[] = {"slurm", "local", "dry", NULL};

static const char *filled(const char *text)
{
    return *text ? text : NULL;
}

/* What the site says about jobs goes below the study's own words and above the user's file. */
/* The words of sbatch that a file lists, one an item. */
static int take_words_of(const char *file, const char *key, const struct yaml_lines *list,
                         struct job_options *dst, struct err *e)
{
    if (job_options_decode(dst, (int)list->count, list->lines, e) == 0)
        return 0;
    e->code = ERR_CONFIG;
    return err_prefix(e, "%s: %s", file, key);
}

static int merge_options(struct workspace *w, struct err *e)
{
    const struct study_slurm *o = &w->study.slurm;

    if (yaml_table_add_table(study_keys, "slurm", site_keys, &w->site, &w->site.origins, &w->study,
                             &w->study.origins, e))
        return -1;
    w->options = (struct job_options){
        .partition = filled(o->partition),
        .account = filled(o->account),
        .qos = filled(o->qos),
        .constraint = filled(o->constraint),
        .licenses = filled(w->site.licenses),
        .mem = filled(o->mem),
        .time_min = *o->time ? job_time_decode(o->time) : 0,
    };
    return take_words_of(w->site.file, "options", &w->site.slurm.options, &w->options, e) ||
                   take_words_of(w->study.file, "slurm.options", &o->options, &w->options, e)
               ? -1
               : 0;
}

static int check_kind(const char *kind, struct err *e)
{
    const char *near;

    for (const char *const *known = kinds; *known; known++)
        if (strcmp(kind, *known) == 0)
            return 0;
    near = cli_nearest(kind, kinds);
    return err_set(e, ERR_USAGE, "--scheduler %s: unknown%s%s%s (known: slurm, local, dry)", kind,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* A site's path is meant from the folder of the file that names it, or from the current one. */
static void site_base(const struct study *s, char dst[PATH_MAX])
{
    const struct yaml_origin *o = yaml_table_origin(study_keys, &s->origins, "site");
    const char *slash = o->where ? strrchr(o->where, '/') : NULL;

    if (o->layer == YAML_STUDY)
        snprintf(dst, PATH_MAX, "%s", s->dir);
    else
        snprintf(dst, PATH_MAX, "%.*s", o->layer == YAML_USER && slash ? (int)(slash - o->where) : 1,
                 o->layer == YAML_USER && slash ? o->where : ".");
}

/* The site, and the scheduler that new jobs go to. */
static int choose_site(struct workspace *w, const struct workspace_args *args, struct err *e)
{
    char base[PATH_MAX];

    if (args->scheduler && check_kind(args->scheduler, e))
        return -1;
    site_base(&w->study, base);
    if (site_open(&w->site, w->study.site, base, e))
        return -1;
    w->scheduler = args->scheduler ? args->scheduler : w->site.scheduler;
    if (strcmp(w->scheduler, "dry") == 0 || strcmp(w->scheduler, w->site.scheduler) == 0)
        return 0;
    if (strcmp(w->scheduler, "local") != 0)
        return err_set(e, ERR_CONFIG, "--scheduler %s: site %s is for scheduler %s; choose another "
                       "with --site", w->scheduler, w->site.name, w->site.scheduler);
    site_close(&w->site);
    return site_open(&w->site, "local", ".", e);
}

/* What the command line says, as settings of the study. What the environment says instead of an
 * option, study_open takes from there. */
static size_t take_words(const struct workspace_args *args, char seeds[24], struct yaml_setting *dst)
{
    size_t n = 0;

    if (cli_is_given(&args->gpus))
        dst[n++] = (struct yaml_setting){"gpus", args->gpus, "--gpus"};
    if (cli_is_given(&args->engine))
        dst[n++] = (struct yaml_setting){"engine", args->engine, "--engine"};
    if (cli_is_given(&args->site))
        dst[n++] = (struct yaml_setting){"site", args->site, "--site"};
    if (cli_is_given(&args->seeds)) {
        snprintf(seeds, 24, "%ld", args->seeds);
        dst[n++] = (struct yaml_setting){"seeds", seeds, "--seeds"};
    }
    return n;
}

static int open_study(struct workspace *w, const struct workspace_args *args, struct err *e)
{
    struct yaml_setting settings[CLI_LIST_MAX + 4];
    char seeds[24];
    size_t n = take_words(args, seeds, settings + args->set.count);

    if (study_decode_set(&args->set, settings, e))
        return -1;
    return study_open(&w->study, args->dir, settings, args->set.count + n, e);
}

int workspace_open(struct workspace *w, const struct workspace_args *args, struct err *e)
{
    *w = (struct workspace){.ledger.lock_fd = -1};
    if ((args->engine && !engine_find(args->engine, e)) || open_study(w, args, e) ||
        choose_site(w, args, e) || merge_options(w, e) || ledger_open(&w->ledger, w->study.dir, e)) {
        workspace_close(w);
        return -1;
    }
    w->gpus = w->study.gpus;
    w->seeds = w->study.seeds;
    w->templates = args->templates         ? args->templates
                   : *w->study.templates ? w->study.templates
                                         : w->site.templates;
    return 0;
}

void workspace_close(struct workspace *w)
{
    for (int i = 0; i < WORKSPACE_NKINDS; i++)
        scheduler_close(w->open[i]);
    ledger_close(&w->ledger);
    site_close(&w->site);
    study_close(&w->study);
    *w = (struct workspace){.ledger.lock_fd = -1};
}

int workspace_take_options(struct workspace *w, int nwords, char **words, struct err *e)
{
    w->options.given = words;
    w->options.ngiven = nwords;
    return job_options_decode(&w->options, nwords, words, e);
}

struct scheduler *workspace_scheduler(struct workspace *w, const char *kind, struct err *e)
{
    struct scheduler_config config = {.kind = kind,
                                      .sandbox = w->site.sandbox,
                                      .max_in_flight = (int)(w->max_in_flight ? w->max_in_flight
                                                                              : w->site.max_in_flight)};

    for (int i = 0; i < WORKSPACE_NKINDS; i++) {
        if (strcmp(kinds[i], kind) != 0)
            continue;
        if (!w->open[i])
            w->open[i] = scheduler_open(&config, e);
        return w->open[i];
    }
    err_set(e, ERR_CONFIG, "unknown scheduler '%s' in the ledger", kind);
    return NULL;
}

/* Slurm fills in patterns such as %j in the name of the output; those of the folder are not meant. */
static void double_percents(const char *path, struct buf *dst)
{
    for (; *path; path++)
        buf_add_bytes(dst, *path == '%' ? "%%" : path, *path == '%' ? 2 : 1);
}

int workspace_job(const struct workspace *w, const struct run *run, int attempt,
                  struct workspace_job *dst, struct err *e)
{
    const struct study_engine *section = study_engine(&w->study, run->engine->name);
    bool resumes = !section || section->resumes;
    struct buf output = {0};
    int n;

    ledger_tag(&w->ledger, run->id, attempt, dst->tag);
    snprintf(dst->name, sizeof dst->name, "%s-%s", w->study.name, run->id);
    run_dir_path(w->study.dir, run->id, "submit_file.sh", dst->script);
    run_dir_path(w->study.dir, run->id, NULL, dst->work_dir);
    if (strcmp(w->site.scheduler, "slurm") == 0 && strchr(dst->work_dir, '\\'))
        return err_set(e, ERR_CONFIG, "%s: Slurm cannot write the output of a job into a folder with a "
                       "backslash in its name; rename it", dst->work_dir);
    double_percents(dst->work_dir, &output);
    buf_addf(&output, "/attempt-%d/slurm-%%j.out", attempt);
    n = snprintf(dst->output, sizeof dst->output, "%s", output.failed ? "" : output.data);
    buf_destroy(&output);
    if (n <= 0 || n >= PATH_MAX)
        return err_set(e, ERR_CONFIG, "%s: the path is too long", dst->work_dir);
    dst->job = (struct job){.tag = dst->tag,
                            .name = dst->name,
                            .script = dst->script,
                            .work_dir = dst->work_dir,
                            .output = dst->output,
                            .nodes = run->layout.nodes,
                            .tasks = run->layout.tasks,
                            .gpus_per_task = run->layout.gpus_per_task,
                            .cpus_per_task = (int)w->study.slurm.cpus_per_gpu * run->layout.gpus_per_task,
                            .signal_s = resumes ? (int)w->study.again.signal_s : 0,
                            .requeues = resumes ? (int)w->study.again.requeues : 0,
                            .gres = strcmp(w->site.gpu_request, "gres") == 0,
                            .gpu_type = w->site.gpu_type,
                            .options = w->options};
    n = script_has_directives(w, run->engine, e);
    dst->job.own_directives = n > 0;
    return n < 0 ? -1 : 0;
}

static int make_folder(const char *path, struct err *e)
{
    return mkdir(path, 0777) && errno != EEXIST ? err_errno(e, ERR_INTERNAL, errno, "%s", path) : 0;
}

int workspace_write(const struct workspace *w, const char *path, const char *text, mode_t mode,
                    struct err *e)
{
    return w->files ? atomicfile_batch_add(w->files, path, text, strlen(text), mode, e)
                    : atomicfile_write(path, text, strlen(text), mode, e);
}

static int write_run_json(const struct workspace *w, const struct run *run, struct err *e)
{
    char file[PATH_MAX], *text = run_plan_encode(&w->study, w->ledger.study_id, run, e);
    struct buf b = {0};
    int rc;

    if (!text)
        return -1;
    run_dir_path(w->study.dir, run->id, "run.json", file);
    buf_addf(&b, "%s\n", text);
    rc = b.failed ? err_set(e, ERR_INTERNAL, "no memory") : workspace_write(w, file, b.data, 0666, e);
    buf_destroy(&b);
    free(text);
    return rc;
}

int workspace_compare(const struct workspace *w, const struct run *run, struct err *e)
{
    char *text = run_plan_encode(&w->study, w->ledger.study_id, run, e), *old = NULL;
    struct run ignored;
    int rc = text ? run_dir_read(w->study.dir, run->id, &ignored, &old, e) : -1;

    if (rc == 0 && run_plan_compare(old, text, e))
        rc = err_prefix(e, "run %s has begun, and %s has changed since (put it back, or make another "
                        "study with 'unetctl init')", run->id, w->study.file);
    free(old);
    free(text);
    return rc;
}

int workspace_generate(const struct workspace *w, const struct run *run, int attempt, struct err *e)
{
    char path[PATH_MAX], name[32];
    struct run_attempt newest;
    bool begun;

    if (run_dir_attempt(w->study.dir, run->id, &newest, e))
        return -1;
    begun = newest.number > 1 || newest.begun;
    snprintf(path, sizeof path, "%s/runs", w->study.dir);
    if (make_folder(path, e))
        return -1;
    run_dir_path(w->study.dir, run->id, NULL, path);
    if (make_folder(path, e) || (begun ? workspace_compare(w, run, e) : write_run_json(w, run, e)))
        return -1;
    if (newest.begun && newest.number >= attempt)
        return 0;
    snprintf(name, sizeof name, "attempt-%d", attempt);
    run_dir_path(w->study.dir, run->id, name, path);
    return make_folder(path, e) ? -1 : script_write(w, run, attempt, e);
}
