/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/study/workspace.h"

#include "launcher/scheduler/job.h"
#include "src/format/pattern.h"

typedef struct scheduler *open_f(const struct scheduler_config *config, struct err *e);

/* in the order of plan_schedulers */
static open_f *const openers[] = {scheduler_slurm_open, scheduler_local_open, scheduler_dry_open,
                                scheduler_slurm_open};

static int open_with_words(struct workspace *w, const struct plan_args *args, int nwords,
                           char **words, struct err *e)
{
    *w = (struct workspace){.ledger.lock_fd = -1, .take_over = args->take_over};
    if (plan_open(&w->plan, args, nwords, words, e) ||
        ledger_open(&w->ledger, w->plan.study.dir, e)) {
        workspace_close(w);
        return -1;
    }
    w->plan.study_id = w->ledger.study_id;
    return 0;
}

int workspace_open(struct workspace *w, const struct plan_args *args, struct err *e)
{
    return open_with_words(w, args, 0, NULL, e);
}

static int check_one_allocation(const struct plan *p, struct err *e)
{
    if (strcmp(p->site.scheduler, "slurm") != 0)
        return err_set(e, ERR_USAGE, "--one-allocation needs Slurm; the local queue starts "
                       "max_in_flight runs at once (%s)", p->site.file);
    if (p->max_in_flight)
        return err_set(e, ERR_USAGE, "--one-allocation submits one job, which starts as many runs "
                       "as fit: leave out --max-in-flight");
    return 0;
}

int workspace_open_jobs(struct workspace *w, const struct plan_args *args, int nwords,
                        char **words, struct err *e)
{
    struct buf unused = {0};

    if (open_with_words(w, args, nwords, words, e))
        return -1;
    w->plan.one_allocation = args->one_allocation;
    if (plan_open_variants(&w->plan, args, e) ||
        (args->one_allocation && check_one_allocation(&w->plan, e))) {
        workspace_close(w);
        return -1;
    }
    if (strcmp(w->plan.site.scheduler, "slurm") == 0 && !w->plan.site.sandbox)
        sbatch_environment_unused(&unused);
    if (unused.length)
        log_info("not used: %s", unused.data);
    buf_destroy(&unused);
    return 0;
}

void workspace_close(struct workspace *w)
{
    for (int i = 0; i < WORKSPACE_NKINDS; i++)
        scheduler_close(w->open[i]);
    free(w->excluded);
    ledger_close(&w->ledger);
    plan_close(&w->plan);
    *w = (struct workspace){.ledger.lock_fd = -1};
}

const char *workspace_kind(const struct workspace *w)
{
    bool is_slurm = strcmp(w->plan.scheduler, "slurm") == 0;

    return is_slurm && w->plan.site.sandbox ? "sandbox" : w->plan.scheduler;
}

bool workspace_is_slurm(const char *kind)
{
    return strcmp(kind, "slurm") == 0 || strcmp(kind, "sandbox") == 0;
}

struct scheduler *workspace_scheduler(struct workspace *w, const char *kind, struct err *e)
{
    const struct plan *p = &w->plan;
    long jobs = p->max_in_flight ? p->max_in_flight : p->site.max_in_flight;
    struct scheduler_config config = {.sandbox = strcmp(kind, "sandbox") == 0,
                                      .interface = p->study.slurm.interface,
                                      .clusters = p->options.clusters,
                                      .max_in_flight = (int)jobs};

    for (int i = 0; i < WORKSPACE_NKINDS; i++) {
        if (strcmp(plan_schedulers[i], kind) != 0)
            continue;
        if (!w->open[i])
            w->open[i] = openers[i](&config, e);
        return w->open[i];
    }
    err_set(e, ERR_CONFIG, "the ledger names an unknown scheduler '%s'", kind);
    return NULL;
}

/* ---- planning ---- */

/* Returns the most GPUs of a run: of those in the list and of those in the ledger. */
static int most_gpus(const struct ledger *l, const char *gpus)
{
    int most = study_most_gpus(gpus);

    for (size_t i = 0; l && i < l->count; i++) {
        const char *name = l->entries[i].run, *part = strstr(name, "-g");

        for (const char *next = part; next; next = strstr(next + 1, "-g"))
            part = next;
        if (part && atoi(part + 2) > most)
            most = atoi(part + 2);
    }
    return most;
}

int workspace_check_effect(const struct study *s, const struct ledger *l, const char *gpus,
                           struct err *e)
{
    bool begun = l && l->count > 0;
    int most = gpus ? most_gpus(l, gpus) : 0;

    if (*s->log.pattern && pattern_compile(s->log.pattern, NULL, e))
        return err_prefix(e, "%s: log.pattern", study_place(s, "log.pattern"));
    if (strcmp(s->engine, "embedded") != 0)
        return 0;
    for (const struct setting *k = settings_of_study; k->path; k++) {
        size_t row = (size_t)(k - settings_of_study);
        enum yaml_layer layer = s->origins.at[row].layer;

        if (layer < YAML_STUDY || (layer < YAML_COMMAND && s->has_effect[row]) ||
            need_check(settings_of_study, k, &s->settings, most, e) == 0)
            continue;
        err_prefix(e, "%s", study_place(s, k->path));
        if (!begun)
            return -1;
        log_warn("%s", e->text);
    }
    return 0;
}

int workspace_plan(const struct workspace *w, struct plan *dst, struct err *e)
{
    const struct plan *p = &w->plan;
    size_t n = p->nvariants ? p->nvariants : 1;

    *dst = (struct plan){0};
    for (size_t v = 0; v < n; v++) {
        const struct study *s = p->nvariants ? &p->variants[v].study : &p->study;
        if (plan_check_shipped(p, s, e) || workspace_check_effect(s, &w->ledger, s->gpus, e))
            return p->nvariants ? err_prefix(e, "variant %s", p->variants[v].name) : -1;
    }
    return plan_compute(p, p->study.gpus, plan_seeds(&p->study), dst, e);
}
