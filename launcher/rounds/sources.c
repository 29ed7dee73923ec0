/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/rounds/sources.h"

#include <libgen.h>

#include "launcher/host/path.h"
#include "launcher/rounds/rounds.h"

static struct analysis_source *add(struct sources *s, struct err *e)
{
    if (mem_grow(&s->list, s->count, &s->capacity, sizeof *s->list, e))
        return NULL;
    s->list[s->count] = (struct analysis_source){0};
    return &s->list[s->count];
}

/* One rule applies to all sources. */
static void set_rule(struct sources *s, const struct study *study)
{
    struct decision_rule rule = DECISION_RULE_INIT;
    struct series_facts facts = {0};

    rounds_rule(study, &rule, &facts);
    if (!s->ruled) {
        s->rule = rule;
        result_set_text(s->unit, sizeof s->unit, study->work.unit);
        s->mode = facts.mode;
    } else if (rule.efficiency != s->rule.efficiency || rule.margin != s->rule.margin ||
               rule.is_share != s->rule.is_share || rule.chosen != s->rule.chosen)
        log_warn("report: %s sets report.efficiency %g and quality.margin %s; those of the first "
                 "study apply", study->name, rule.efficiency, study->quality.margin);
    s->ruled = true;
}

/* Reads how the study was made if that was in rounds, whose rule applies. */
static int read_rounds(struct sources *s, struct workspace *w, const struct results *table,
                       struct err *e)
{
    struct rounds rounds;

    if (!path_has_file(w->ledger.dir, "rounds.json"))
        return 0;
    if (rounds_read(&rounds, w, 0, e))
        return -1;
    int rc = rounds_describe(&rounds, table, &s->looks, &s->design, e);
    s->rule = rounds.design.rule;
    rounds_close(&rounds);
    return rc;
}

/* Adds a line for each count that is known not to run and has no run, and finds the base case. */
static void note_refused(struct sources *s, const struct study *study, const struct results *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct result *r = &table->rows[i];
        if (r->state == RESULT_DONE && plan_refusal(study, 1) && (!s->base || r->gpus < s->base))
            s->base = r->gpus;
    }
    for (size_t i = 0, k; i < study->expect.count; i++) {
        int gpus = atoi(study->expect.lines[i]);
        for (k = 0; k < table->count && table->rows[k].gpus != gpus;)
            k++;
        if (k == table->count)
            buf_addf(&s->left_out, "%d GPU%s: not measured, as study.yaml says (expect): %s\n", gpus,
                     plural(gpus), plan_refusal(study, gpus));
    }
}

int sources_add_study(struct sources *s, const char *dir, struct err *e)
{
    struct plan_args args = {.dir = dir};
    struct analysis_source *source = add(s, e);
    struct workspace w;
    int rc;

    if (!source || workspace_open(&w, &args, e))
        return -1;
    result_set_text(source->title, sizeof source->title, w.plan.study.name);
    set_rule(s, &w.plan.study);
    path_format(s->site.study_dir, "%s", w.plan.study.dir);
    if (strcmp(w.plan.site.scheduler, "slurm") == 0 && strcmp(w.plan.site.name, "generic") != 0)
        result_set_text(s->site.cluster, sizeof s->site.cluster, w.plan.site.name);
    s->site.gpus_per_node = w.plan.site.gpus_per_node;
    s->site.cpus_per_gpu = (int)w.plan.study.slurm.cpus_per_gpu;
    s->site.mem_gb = plan_mem_gb(&w.plan.study);
    result_set_text(s->site.billing, sizeof s->site.billing, w.plan.site.billing);
    if (s->into_study && access(w.plan.study.dir, W_OK))
        rc = err_errno(e, ERR_INTERNAL, errno, "cannot write the report into the study %s (-o DIR "
                       "writes it elsewhere)", w.plan.study.dir);
    else
        rc = plan_open_variants(&w.plan, &args, e) ||
                     collect_study(&w, s->into_study, &source->results, e)
                 ? -1
                 : 0;
    if (rc == 0) {
        note_refused(s, &w.plan.study, &source->results);
        rc = s->left_out.failed ? mem_fail(e) : 0;
    }
    s->count += rc == 0;
    if (rc == 0 && s->count == 1)
        rc = read_rounds(s, &w, &source->results, e);
    workspace_close(&w);
    return rc;
}

int sources_add_logs(struct sources *s, const char *dir, const struct log_form *form,
                     struct err *e)
{
    struct analysis_source *source = add(s, e);
    char full[PATH_MAX];

    if (!source)
        return -1;
    if (!realpath(dir, full))
        return err_set(e, ERR_DATA, "the folder %s does not exist", dir);
    if (logs_folder_read(full, form, &source->results, e))
        return -1;
    result_set_text(source->title, sizeof source->title, basename(full));
    s->count++;
    return 0;
}

int sources_add(struct sources *s, const char *dir, const struct log_form *form, struct err *e)
{
    char path[PATH_MAX];

    return access(path_format(path, "%s/" STUDY_FILE, dir), F_OK) == 0
               ? sources_add_study(s, dir, e)
               : sources_add_logs(s, dir, form, e);
}

void sources_apply(const struct sources *s, struct analysis_options *o)
{
    o->rule = s->rule;
    if (s->design && s->count == 1) {
        o->rule.looks = s->looks.n ? &s->looks : NULL;
        o->design = s->design;
    }
    o->left_out = s->left_out.data;
    if (!o->facts.base)
        o->facts.base = s->base;
    o->facts.unit = s->unit;
    o->facts.mode = s->mode;
}

const char *sources_folder(const struct sources *s, char dst[PATH_MAX])
{
    return s->count == 1 && *s->site.study_dir ? path_format(dst, "%s/report", s->site.study_dir) : "report";
}

void sources_destroy(struct sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        results_destroy(&s->list[i].results);
    free(s->list);
    free(s->design);
    buf_destroy(&s->left_out);
}
