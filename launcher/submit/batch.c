/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/plan/data_split.h"
#include "launcher/plan/plan_advice.h"
#include "launcher/submit/allocation.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/dependency.h"
#include "launcher/submit/in_flight.h"
#include "src/log.h"
#include "src/mem.h"
#include "src/plural.h"

#define SHARE_MAX 64 /* the most items that are noted in the ledger and submitted together */
#define LOST_TEXT "the answer was lost; type 'unetctl submit' again, which finds an existing job"

int batch_add(struct batch *b, const struct run *run, int attempt, int from, struct err *e)
{
    if (mem_grow(&b->items, b->count, &b->capacity, sizeof *b->items, e))
        return -1;
    b->items[b->count++] = (struct batch_item){.run = *run, .attempt = attempt, .from = from};
    return 0;
}

void batch_close(struct batch *b)
{
    free(b->items);
}

static bool is_dry(const struct plan *p)
{
    return strcmp(p->scheduler, "dry") == 0;
}

static bool is_slurm(const struct plan *p)
{
    return strcmp(p->scheduler, "slurm") == 0;
}

/* Returns "submitted as job 7", or that it would be submitted. */
static const char *say_job(const struct plan *p, const char *id, char dst[160])
{
    if (is_dry(p))
        snprintf(dst, 160, "would be submitted");
    else
        snprintf(dst, 160, "submitted as job %.128s", id);
    return dst;
}

static void print_item(const struct plan *p, const struct batch_item *item, const char *id)
{
    const struct layout *l = &item->run.layout;
    char job[160];

    log_info("%s: %s (%d GPU%s, %d node%s, %d task%s, %s)", item->run.id, say_job(p, id, job),
             l->gpus, plural(l->gpus), l->nodes, plural(l->nodes), l->tasks,
             plural(l->tasks), layout_strategy_encode(l->strategy));
    if (item->from)
        log_info("%s: attempt %d continues from the checkpoint of attempt %d%s", item->run.id,
                 item->attempt, item->from, item->run.resized ? ", with another number of GPUs"
                 : "");
    else if (item->attempt > 1)
        log_info("%s: attempt %d starts from the beginning, as there is no checkpoint",
                 item->run.id, item->attempt);
}

/* ---- a share: items that are noted together, each with its job, or all with one ---- */

struct share {
    const struct batch_item *items;
    size_t count;
    const struct job *jobs;
    size_t njobs; /* count, or 1 */
    struct scheduler_result *results; /* of the jobs */
};

static struct scheduler_result *result_of(const struct share *s, size_t i)
{
    return &s->results[s->njobs == 1 ? 0 : i];
}

/* Appends an event to the ledger for each item with this outcome; a negative outcome means all
 * items. */
static int note(struct workspace *w, const struct share *s, enum ledger_event event, int outcome,
                struct err *e)
{
    struct ledger_note *notes = mem_zero(s->count, sizeof *notes, e);
    size_t n = 0;

    if (!notes)
        return -1;
    for (size_t i = 0; i < s->count; i++)
        if (outcome < 0 || (int)result_of(s, i)->outcome == outcome)
            notes[n++] = (struct ledger_note){
                .run = s->items[i].run.id,
                .attempt = s->items[i].attempt,
                .reason = event == LEDGER_SUBMITTING ? s->items[i].run.reason : NULL,
                .job = outcome == SCHEDULER_SUBMITTED ? result_of(s, i)->id : NULL};
    int rc = is_dry(&w->plan) ? 0 : ledger_append_all(&w->ledger, event, notes, n,
                    w->plan.scheduler, e);
    free(notes);
    return rc;
}

/* Reports the first job that was refused or whose answer was lost. A limit, which leaves it and
 * those after it for later, only sets is_full. */
static int find_failure(const struct share *s, struct batch *b, struct err *e)
{
    for (size_t i = 0; i < s->njobs; i++) {
        struct scheduler_result *r = &s->results[i];
        if (r->outcome == SCHEDULER_NOT_TRIED && b->is_full)
            r->outcome = SCHEDULER_REFUSED;
        if (r->is_full && !b->is_full)
            b->limit = r->reason;
        b->is_full |= r->is_full;
        if (r->outcome == SCHEDULER_SUBMITTED || b->is_full)
            continue;
        *e = r->reason;
        e->code = ERR_SCHED;
        if (s->njobs == s->count)
            err_prefix(e, "%s", s->items[i].run.id);
        return r->outcome == SCHEDULER_LOST ? err_prefix(e, LOST_TEXT) : -1;
    }
    return 0;
}

static bool has_lost(const struct share *s)
{
    size_t i = 0;

    while (i < s->njobs && s->results[i].outcome != SCHEDULER_LOST)
        i++;
    return i < s->njobs;
}

/* The ledger is fsynced before the first submission and after the last; if that is interrupted in
 * between, the tags show which jobs exist. */
static int submit_share(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                        const struct share *s, struct err *e)
{
    struct err later;

    if (note(w, s, LEDGER_SUBMITTING, -1, e) ||
        (is_slurm(&w->plan) && in_flight_add(&w->ledger, s->jobs, s->njobs, e)))
        return -1;
    scheduler_submit_all(scheduler, s->jobs, s->njobs, s->results);
    int rc = find_failure(s, b, e);
    for (size_t i = 0; i < s->count; i++) {
        if (result_of(s, i)->outcome != SCHEDULER_SUBMITTED)
            continue;
        if (s->njobs == s->count)
            print_item(&w->plan, &s->items[i], result_of(s, i)->id);
        b->submitted++;
    }
    if (note(w, s, LEDGER_SUBMITTED, SCHEDULER_SUBMITTED, rc ? &later : e) ||
        note(w, s, LEDGER_REFUSED, SCHEDULER_REFUSED, rc ? &later : e))
        return -1;
    if (!has_lost(s))
        in_flight_remove(&w->ledger);
    return rc;
}

/* Submits the items from begin on, each with its job. With the lanes of --max-in-flight
 * (dependency.h) that is one item, as a job needs the id of an earlier one. */
static int submit_items(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                        size_t begin, size_t count, struct dependency *dependency, struct err *e)
{
    struct attempt_job *described = calloc(count, sizeof *described);
    struct job *jobs = calloc(count, sizeof *jobs);
    struct scheduler_result *results = calloc(count, sizeof *results);
    const struct share share = {&b->items[begin], count, jobs, count, results};
    bool failed = !described || !jobs || !results;
    const char *after = failed ? NULL : dependency_next(dependency, &failed);
    int rc = failed ? mem_fail(e) : 0;

    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = attempt_job(&w->plan, &share.items[i].run, share.items[i].attempt, &described[i], e);
        jobs[i] = described[i].job;
        jobs[i].options.dependency = after;
    }
    if (rc == 0)
        rc = submit_share(w, scheduler, b, &share, e);
    if (rc == 0 && !b->is_full)
        dependency_add(dependency, results[count - 1].id);
    free(described);
    free(jobs);
    free(results);
    return rc;
}

static int submit_each(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                       struct dependency *dependency, struct err *e)
{
    size_t share = dependency->nlanes ? 1 : SHARE_MAX, n;
    int rc = 0;

    for (size_t i = 0; rc == 0 && !b->is_full && i < b->count; i += n) {
        n = b->count - i < share ? b->count - i : share;
        rc = submit_items(w, scheduler, b, i, n, dependency, e);
    }
    return rc;
}

static const struct batch_item *find_largest(const struct batch *b)
{
    const struct batch_item *largest = b->items;

    for (size_t i = 1; i < b->count; i++)
        if (b->items[i].run.layout.gpus > largest->run.layout.gpus)
            largest = &b->items[i];
    return largest;
}

/* Submits all items as one job. */
static int submit_allocation(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                             const struct dependency *dependency, struct err *e)
{
    struct allocation_run *runs = mem_zero(b->count, sizeof *runs, e);
    struct scheduler_result result;
    struct allocation a;
    const struct share share = {b->items, b->count, &a.job.job, 1, &result};
    char job[160];
    int rc = runs ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < b->count; i++)
        runs[i] = (struct allocation_run){&b->items[i].run, b->items[i].attempt};
    if (rc == 0)
        rc = allocation_describe(&w->plan, &find_largest(b)->run, &a, e) ||
                     allocation_write(&w->plan, &a, runs, b->count, e)
                 ? -1
                 : 0;
    free(runs);
    if (rc)
        return -1;
    a.job.job.options.dependency = dependency->fixed;
    if (scheduler_check(scheduler, &a.job.job, e))
        return err_prefix(e, "nothing was submitted: one allocation for all");
    if (submit_share(w, scheduler, b, &share, e))
        return -1;
    if (b->submitted)
        log_info("%zu run%s %s (%d node%s, %d GPU%s; %s)", b->count, plural(b->count),
                 say_job(&w->plan, result.id, job), a.job.job.nodes, plural(a.job.job.nodes),
                 a.job.job.tasks, plural(a.job.job.tasks), a.name);
    return 0;
}

/* ---- the files ---- */

static int write_files(const struct plan *p, const struct batch *b, struct err *e)
{
    struct atomicfile_batch files = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && !is_dry(p) && i < b->count; i++)
        rc = attempt_generate(p, &b->items[i].run, b->items[i].attempt, &files, e);
    if (rc == 0)
        rc = atomicfile_batch_commit(&files, e);
    atomicfile_batch_abort(&files);
    return rc;
}

/* Chooses the nodes of runs of a number of GPUs that has none yet. */
static int choose_nodes(const struct plan *p, struct scheduler *scheduler, const struct batch *b,
                        struct err *e)
{
    struct attempt_job job;
    int last = 0;

    if (!is_slurm(p) || !p->study.slurm.same_nodes || p->options.nodelist ||
        p->one_allocation)
        return 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct run *run = &b->items[i].run;
        if (attempt_job(p, run, b->items[i].attempt, &job, e))
            return -1;
        job.job.script = NULL;
        if (*job.nodes || run->layout.gpus == last)
            continue;
        last = run->layout.gpus;
        if (same_nodes_choose(p, scheduler, run, &job.job, e))
            return err_prefix(e, "nothing was submitted: %s", run->id);
    }
    return 0;
}

/* Checks the largest job, since jobs differ only in size, and writes the files: before the check
 * only if that needs the script, which has directives of its own. */
static int prepare(const struct plan *p, struct scheduler *scheduler, const struct batch *b,
                   struct err *e)
{
    const struct batch_item *largest = find_largest(b);
    struct attempt_job job;

    if (p->one_allocation)
        return write_files(p, b, e);
    if (attempt_job(p, &largest->run, largest->attempt, &job, e))
        return -1;
    bool is_first = job.job.own_directives;
    if (!is_first)
        job.job.script = NULL;
    if (is_first && write_files(p, b, e))
        return -1;
    if (scheduler_check(scheduler, &job.job, e))
        return err_prefix(e, "nothing was submitted: %s (%d GPU%s)", largest->run.id,
                          largest->run.layout.gpus, plural(largest->run.layout.gpus));
    return is_first ? 0 : write_files(p, b, e);
}

/* Warns if a job's signal would be due before it starts. The job would then stop at once and
 * restart until slurm.requeues is used up. */
static void warn_of_time(const struct plan *p)
{
    char text[256];

    if (plan_advice_time(p, text))
        log_warn("%s", text);
}

int batch_submit(struct workspace *w, struct batch *b, const struct job_state *jobs, size_t njobs,
                 struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->plan.scheduler, e);
    struct dependency dependency;

    if (!scheduler || (b->count && data_split_make(&w->plan, e)))
        return -1;
    if (b->count)
        warn_of_time(&w->plan);
    if (choose_nodes(&w->plan, scheduler, b, e) ||
        (b->count && prepare(&w->plan, scheduler, b, e)) ||
        dependency_open(&dependency, w, scheduler, jobs, njobs, e))
        return -1;
    int rc = w->plan.one_allocation && b->count ? submit_allocation(w, scheduler, b, &dependency, e)
                                           : submit_each(w, scheduler, b, &dependency, e);
    dependency_close(&dependency);
    return rc;
}
