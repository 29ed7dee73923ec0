/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submission.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/run_status.h"
#include "launcher/trainer_program.h"
#include "src/log.h"

#define LOCK_TIMEOUT_S 60

/* The attempts to submit. */
struct batch {
    struct item {
        struct run run;
        int attempt;
        int from; /* earlier attempt whose checkpoint it goes on from, 0: none has */
    } * items;
    size_t count;
};

static int add_item(struct batch *b, const struct run *run, int attempt, int from, struct err *e)
{
    struct item *grown = realloc(b->items, (b->count + 1) * sizeof *grown);

    if (!grown)
        return err_errno(e, ERR_INTERNAL, errno, "submit");
    b->items = grown;
    b->items[b->count++] = (struct item){*run, attempt, from};
    return 0;
}

static int check_run_fits(const struct workspace *w, const struct run *run,
                          const struct scheduler_partition *p, struct err *e)
{
    const struct layout *l = &run->layout;
    int per_node = l->tasks_per_node * l->gpus_per_task;

    if (p->gpus_per_node && per_node > p->gpus_per_node)
        return err_set(e, ERR_SCHED, "%d GPUs: site %s plans %d GPUs on a node, but the nodes of "
                       "partition %s have %d (gpus_per_node in %s); nothing was submitted",
                       l->gpus, w->site.name, per_node, p->name, p->gpus_per_node, w->site.file);
    if (p->nodes && l->nodes > p->nodes)
        return err_set(e, ERR_SCHED, "%d GPUs need %d nodes, but partition %s has %d: at most %ld "
                       "GPUs; nothing was submitted",
                       l->gpus, l->nodes, p->name, p->nodes, p->nodes * w->site.gpus_per_node);
    return 0;
}

int submission_check_limits(struct workspace *w, const struct run_plan *plan, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->scheduler, e);
    struct scheduler_partition p;

    if (!scheduler || scheduler_partition(scheduler, w->options.partition, &p, e))
        return -1;
    for (size_t i = 0; i < plan->count; i++)
        if (check_run_fits(w, &plan->runs[i], &p, e))
            return -1;
    return 0;
}

/* Freeze the split once, with the trainer's own reader of the data. */
static int make_split(const struct workspace *w, struct err *e)
{
    char file[PATH_MAX], fraction[32], seed[32], classes[32];
    const char *argv[] = {"data", "split", "--data", w->study.data.dir, "--out", file,
                          "--val-fraction", fraction, "--seed", seed, "--classes",
                          classes, "--ignore", w->study.data.ignore, "--class-file",
                          w->study.data.class_file,
                          w->study.data.soft_masks ? "--soft-masks" : NULL, NULL};

    snprintf(file, sizeof file, "%s/split.json", w->study.dir);
    if (access(file, F_OK) == 0)
        return 0;
    snprintf(fraction, sizeof fraction, "%.17g", w->study.data.val_fraction);
    snprintf(classes, sizeof classes, "%ld", w->study.data.classes);
    snprintf(seed, sizeof seed, "%ld", w->study.data.split_seed);
    log_info("splitting %s into training and validation: %s", w->study.data.dir, file);
    return trainer_program_run(argv, e);
}

static void describe(const struct item *item, const char *id)
{
    const struct layout *l = &item->run.layout;

    log_info("%s: submitted as job %s (%d GPU%s, %d node%s, %d task%s, %s)", item->run.id, id,
             l->gpus, l->gpus > 1 ? "s" : "", l->nodes, l->nodes > 1 ? "s" : "", l->tasks,
             l->tasks > 1 ? "s" : "", layout_strategy_encode(l->strategy));
    if (item->from)
        log_info("%s: attempt %d goes on from the checkpoint of attempt %d", item->run.id,
                 item->attempt, item->from);
    else if (item->attempt > 1)
        log_info("%s: attempt %d starts from the beginning: there is no checkpoint", item->run.id,
                 item->attempt);
}

/* A dry scheduler keeps nothing, so nothing is noted of it either. */
static bool is_noted(const struct workspace *w)
{
    return strcmp(w->scheduler, "dry") != 0;
}

static int note(struct workspace *w, enum ledger_event event, const struct item *item,
                const char *job, struct err *e)
{
    return is_noted(w) ? ledger_append(&w->ledger, event, item->run.id, item->attempt, w->scheduler,
                                       job, e)
                       : 0;
}

static int submit_item(struct workspace *w, struct scheduler *scheduler, const struct item *item,
                       struct err *e)
{
    char id[SCHEDULER_ID_SIZE];
    struct workspace_job job;
    struct err ignored;

    if (workspace_job(w, &item->run, item->attempt, &job, e) ||
        note(w, LEDGER_SUBMITTING, item, NULL, e))
        return -1;
    if (scheduler_submit(scheduler, &job.job, id, e)) {
        /* A lost answer (ERR_INTERNAL) stays open: the next submission asks for the tag. */
        if (e->code != ERR_INTERNAL)
            note(w, LEDGER_REFUSED, item, NULL, &ignored);
        else
            e->code = ERR_SCHED;
        return err_prefix(e, "%s", item->run.id);
    }
    if (note(w, LEDGER_SUBMITTED, item, id, e))
        return -1;
    describe(item, id);
    return 0;
}

/* All checks for all items come before the first submission. */
static int submit_batch(struct workspace *w, const struct batch *b, struct submission_counts *counts,
                        struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->scheduler, e);
    struct workspace_job job;

    if (!scheduler || (b->count && make_split(w, e)))
        return -1;
    for (size_t i = 0; i < b->count; i++)
        if (workspace_generate(w, &b->items[i].run, b->items[i].attempt, e))
            return -1;
    for (size_t i = 0; i < b->count; i++)
        if (workspace_job(w, &b->items[i].run, b->items[i].attempt, &job, e) ||
            scheduler_check(scheduler, &job.job, e))
            return err_prefix(e, "%s (%d GPUs; nothing was submitted)", b->items[i].run.id,
                              b->items[i].run.layout.gpus);
    for (size_t i = 0; i < b->count; i++) {
        if (submit_item(w, scheduler, &b->items[i], e))
            return -1;
        counts->submitted++;
    }
    return 0;
}

/* The state of one attempt, from its folder, the ledger and the jobs that the scheduler knows. */
static int decide(const struct workspace *w, const char *run, const struct job_state *jobs,
                  size_t njobs, struct run_status *s, struct err *e)
{
    int attempt;

    if (run_dir_attempt(w->study.dir, run, &s->attempt, e))
        return -1;
    attempt = s->attempt.number ? s->attempt.number : 1;
    run_status_decide(s, run_status_find_job(w, run, attempt, s->attempt.job, jobs, njobs),
                      ledger_find(&w->ledger, run, attempt));
    return 0;
}

/* The ledger catches up with a job that it does not know yet: submitted by an unetctl that was
 * killed before it could say so, or with sbatch by hand. */
static int adopt(struct workspace *w, const struct run *run, const struct run_status *s,
                 struct err *e)
{
    int attempt = s->attempt.number ? s->attempt.number : 1;
    const struct ledger_entry *entry = ledger_find(&w->ledger, run->id, attempt);

    if (!*s->job || (entry && (entry->last == LEDGER_SUBMITTED || entry->last == LEDGER_CANCELLED)))
        return 0;
    log_info("%s: is job %s already", run->id, s->job);
    return ledger_append(&w->ledger, LEDGER_SUBMITTED, run->id, attempt, w->scheduler, s->job, e);
}

static int choose_new(struct workspace *w, const struct run_plan *plan, const struct job_state *jobs,
                      size_t njobs, struct batch *b, struct submission_counts *counts,
                      struct err *e)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct run *run = &plan->runs[i];
        struct run_status s = {0};

        if (decide(w, run->id, jobs, njobs, &s, e) || adopt(w, run, &s, e))
            return -1;
        /* A run that has begun under another study.yaml is refused, even if it needs nothing. */
        if (s.phase != RUN_PLANNED && workspace_generate(w, run, s.attempt.number, e))
            return -1;
        if (s.phase == RUN_PLANNED) {
            if (add_item(b, run, s.attempt.number ? s.attempt.number : 1, 0, e))
                return -1;
        } else if (s.phase == RUN_BAD) {
            log_warn("%s: %s in attempt %d%s%s; 'unetctl resume %s' tries again", run->id, s.state,
                     s.attempt.number, *s.reason ? ": " : "", s.reason, run->id);
            counts->bad++;
        } else {
            counts->active += s.phase == RUN_ACTIVE;
            counts->good += s.phase == RUN_GOOD;
        }
    }
    return 0;
}

int submission_submit(struct workspace *w, const struct run_plan *plan,
                      struct submission_counts *counts, struct err *e)
{
    struct job_state *jobs = NULL;
    struct batch b = {0};
    size_t njobs = 0;
    int rc = -1;

    *counts = (struct submission_counts){0};
    if (ledger_lock(&w->ledger, LOCK_TIMEOUT_S, e))
        return -1;
    if (submission_check_limits(w, plan, e) == 0 &&
        run_status_query(w, w->scheduler, &jobs, &njobs, e) == 0 &&
        choose_new(w, plan, jobs, njobs, &b, counts, e) == 0)
        rc = submit_batch(w, &b, counts, e);
    free(b.items);
    free(jobs);
    ledger_unlock(&w->ledger);
    return rc;
}

static bool is_named(const char *id, char **ids, size_t nids)
{
    for (size_t i = 0; i < nids; i++)
        if (strcmp(ids[i], id) == 0)
            return true;
    return nids == 0;
}

static int check_ids(const struct workspace *w, char **ids, size_t nids, struct err *e)
{
    char **known, path[PATH_MAX];
    const char *near;
    size_t count;

    for (size_t i = 0; i < nids; i++) {
        run_dir_path(w->study.dir, ids[i], "run.json", path);
        if (!strchr(ids[i], '/') && access(path, F_OK) == 0)
            continue;
        if (run_dir_list(w->study.dir, &known, &count, e))
            return -1;
        char **ended = realloc(known, (count + 1) * sizeof *known);
        if (!ended) {
            run_dir_list_destroy(known, count);
            return err_errno(e, ERR_INTERNAL, errno, "runs");
        }
        ended[count] = NULL;
        near = cli_nearest(ids[i], (const char *const *)ended);
        err_set(e, ERR_USAGE, "no run '%s' in %s%s%s%s (unetctl status lists them)", ids[i],
                w->study.dir, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        run_dir_list_destroy(ended, count);
        return -1;
    }
    return 0;
}

static int choose_again(const struct workspace *w, const struct run_status_list *list, char **ids,
                        size_t nids, struct batch *b, struct submission_counts *counts,
                        struct err *e)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct run_status *s = &list->runs[i];

        if (!is_named(s->run.id, ids, nids))
            continue;
        if (s->phase == RUN_BAD) {
            int from = run_dir_checkpoint(w->study.dir, s->run.id, s->attempt.number);
            if (add_item(b, &s->run, s->attempt.number + 1, from, e))
                return -1;
        } else if (nids) {
            return err_set(e, ERR_USAGE, "%s: is %s; only runs that ended without a result are "
                           "resumed", s->run.id, s->state);
        }
        counts->active += s->phase == RUN_ACTIVE;
        counts->good += s->phase == RUN_GOOD;
    }
    return 0;
}

int submission_resume(struct workspace *w, char **ids, size_t nids, struct submission_counts *counts,
                      struct err *e)
{
    struct run_status_list list = {0};
    struct batch b = {0};
    int rc = -1;

    *counts = (struct submission_counts){0};
    if (check_ids(w, ids, nids, e) || ledger_lock(&w->ledger, LOCK_TIMEOUT_S, e))
        return -1;
    if (run_status_collect(w, &list, e) == 0) {
        if (list.unreachable)
            *e = list.reason;
        else if (choose_again(w, &list, ids, nids, &b, counts, e) == 0)
            rc = submit_batch(w, &b, counts, e);
    }
    run_status_destroy(&list);
    free(b.items);
    ledger_unlock(&w->ledger);
    return rc;
}
