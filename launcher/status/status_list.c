/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/status/status_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/status/absent.h"
#include "launcher/status/study_jobs.h"
#include "src/mem.h"
#include "src/parallel.h"
#include "src/plural.h"

struct reading {
    const char *study_dir;
    char **ids;
    struct run_status *runs;
};

static int read_run(const char *study_dir, const char *id, struct run_status *s, struct err *e)
{
    struct err damage;

    if (run_dir_attempt(study_dir, id, &s->attempt, e))
        return -1;
    if (run_dir_read(study_dir, id, &s->run, NULL, &damage) == 0) {
        s->layout = s->run.layout;
        if (run_dir_layout(study_dir, id, s->attempt.number, &s->layout, &damage) < 0)
            snprintf(s->damage, sizeof s->damage, "%.*s", (int)sizeof s->damage - 1, damage.text);
    } else {
        snprintf(s->damage, sizeof s->damage, "%.*s", (int)sizeof s->damage - 1, damage.text);
        s->run = (struct run){0};
        snprintf(s->run.id, sizeof s->run.id, "%s", id);
    }
    run_dir_progress(&s->attempt, &s->progress);
    return 0;
}

static int read_one(void *arg, size_t i, struct err *e)
{
    const struct reading *r = arg;

    return read_run(r->study_dir, r->ids[i], &r->runs[i], e);
}

static int read_attempts(const char *study_dir, char **ids, struct run_status *runs, size_t count,
                         struct err *e)
{
    return parallel_many(count, read_one, &(struct reading){study_dir, ids, runs}, e);
}

/* A scheduler's answer; it is queried when the first run needs it. */
struct scheduler_answer {
    bool asked, failed;
    struct job_state *jobs;
    size_t njobs;
};

static const struct scheduler_answer *query_scheduler(struct workspace *w,
                                                      struct status_list *list,
                                                      struct scheduler_answer *answers,
                                                      const char *kind)
{
    int i = strcmp(kind, "slurm") == 0 ? WORKSPACE_SLURM
            : strcmp(kind, "local") == 0 ? WORKSPACE_LOCAL : WORKSPACE_DRY;
    struct scheduler_answer *a = &answers[i];

    if (!a->asked) {
        a->asked = true;
        a->failed = study_jobs_query(w, kind, &a->jobs, &a->njobs, &list->reason) != 0;
    }
    return a;
}

/* Makes a run with damaged files DAMAGED, unless it has an active job. */
static void decide_damaged(struct run_status *s)
{
    if (!*s->damage)
        return;
    if (s->phase == RUN_ACTIVE || s->phase == RUN_UNKNOWN)
        snprintf(s->reason, sizeof s->reason, "damaged: %s", s->damage);
    else
        run_status_set(s, STATE_DAMAGED, "%s", s->damage);
}

/* Decides one run. The marker is read again after ledger (the log of submissions) and scheduler,
 * so that the result of a job that ended in between is seen. */
static int decide_run(struct workspace *w, struct status_list *list,
                      struct scheduler_answer *answers, struct run_status *s, struct err *e)
{
    const char *id = s->run.id;
    const struct ledger_entry *entry = ledger_find(&w->ledger, id, s->attempt.number);
    const struct job_state *job = NULL;
    const struct scheduler_answer *a = NULL;

    /* without an attempt's folder, the ledger has its number */
    int number = s->attempt.number || !entry ? s->attempt.number : entry->attempt;

    snprintf(s->scheduler, sizeof s->scheduler, "%s", entry ? entry->scheduler : w->plan.scheduler);
    if (number && *w->plan.study_id &&
        (s->attempt.marker != RUN_DONE || run_status_may_be_ending(s))) {
        a = query_scheduler(w, list, answers, s->scheduler);
        if (s->attempt.marker == RUN_NO_MARKER) {
            if (run_dir_attempt(w->plan.study.dir, id, &s->attempt, e))
                return -1;
            run_dir_progress(&s->attempt, &s->progress);
        }
        number = s->attempt.number ? s->attempt.number : number;
        job = study_jobs_find(&w->plan, id, number, s->attempt.job, a->jobs, a->njobs);
    }
    s->attempt.number = number;
    run_status_decide(s, job, entry);
    if (a && a->failed && s->attempt.marker == RUN_NO_MARKER && (entry || s->attempt.begun)) {
        run_status_set(s, STATE_UNKNOWN, "the scheduler is unreachable");
        list->unreachable = true;
    }
    return 0;
}

static int compare_id(const void *id, const void *other)
{
    return strverscmp(id, *(char *const *)other);
}

/* Lists the runs that have a folder, and those whose last event in the ledger is a submission and
 * whose folder is gone. */
static int list_runs(const struct workspace *w, struct setting_lines *ids, struct err *e)
{
    const struct ledger *l = &w->ledger;
    int rc = run_dir_list(w->plan.study.dir, ids, e);
    size_t nfolders = ids->count;

    for (size_t i = 0; rc == 0 && i < l->count; i++) {
        const struct ledger_entry *entry = &l->entries[i];
        if (entry->last == LEDGER_SUBMITTED && ledger_find(l, entry->run, 0) == entry &&
            !(nfolders &&
              bsearch(entry->run, ids->lines, nfolders, sizeof *ids->lines, compare_id)))
            rc = setting_append_line(ids, entry->run, e);
    }
    if (rc)
        setting_clear_lines(ids);
    run_dir_list_sort(ids);
    return rc;
}

static int resolve(struct workspace *w, struct status_list *list, struct err *e)
{
    int rc = absent_resolve(w, list->runs, list->count, e);

    if (rc > 0) {
        list->unreachable = true;
        list->reason = *e;
    }
    return rc < 0 ? -1 : 0;
}

int status_list_collect(struct workspace *w, struct status_list *dst, struct err *e)
{
    struct scheduler_answer answers[WORKSPACE_NKINDS] = {{0}};
    struct setting_lines ids;
    int rc;

    *dst = (struct status_list){0};
    if (ledger_reload(&w->ledger, e) || list_runs(w, &ids, e))
        return -1;
    size_t count = ids.count;
    dst->runs = mem_zero(count, sizeof *dst->runs, e);
    rc = dst->runs ? read_attempts(w->plan.study.dir, ids.lines, dst->runs, count, e) : -1;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = decide_run(w, dst, answers, &dst->runs[i], e);
    dst->count = count;
    if (rc == 0 && !dst->unreachable)
        rc = resolve(w, dst, e);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        dst->runs[i].run.study = &w->plan.study;
        decide_damaged(&dst->runs[i]);
        dst->ndamaged += *dst->runs[i].damage != 0;
    }
    for (int i = 0; i < WORKSPACE_NKINDS; i++)
        free(answers[i].jobs);
    setting_clear_lines(&ids);
    if (rc)
        status_list_destroy(dst);
    return rc;
}

int status_list_check_damage(const struct status_list *list, struct err *e)
{
    const struct run_status *s = list->runs;

    if (!list->ndamaged)
        return 0;
    while (!*s->damage)
        s++;
    return err_set(e, ERR_DATA, "cannot read the plan of %zu run%s, such as %s: %s; if the "
                   "file is damaged, restore it from a copy, or remove the folder of the run: "
                   "'unetctl submit' writes it again, and 'unetctl resume' trains again",
                   list->ndamaged, plural(list->ndamaged), s->run.id, s->damage);
}

static int compare_run(const void *id, const void *status)
{
    return strverscmp(id, ((const struct run_status *)status)->run.id);
}

const struct run_status *status_list_find(const struct status_list *list, const char *run)
{
    return list->count ? bsearch(run, list->runs, list->count, sizeof *list->runs, compare_run)
           : NULL;
}

void status_list_destroy(struct status_list *list)
{
    free(list->runs);
    *list = (struct status_list){0};
}
