/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/plan/data_split.h"
#include "launcher/plan/plan_advice.h"
#include "launcher/plan/run_cost.h"
#include "launcher/submit/allocation.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/dependency.h"
#include "launcher/submit/in_flight.h"
#include "src/log.h"
#include "src/plural.h"

#define CHUNK 64 /* the most jobs that are noted in the ledger and submitted together */
#define LOST_TEXT "the answer was lost; type 'unetctl submit' again, which finds an existing job"

int batch_add(struct batch *b, const struct run *run, int attempt, int from, struct err *e)
{
    struct batch_item *grown = realloc(b->items, (b->count + 1) * sizeof *grown);

    if (!grown)
        return err_errno(e, ERR_INTERNAL, errno, "submit");
    b->items = grown;
    b->items[b->count++] = (struct batch_item){.run = *run, .attempt = attempt, .from = from};
    return 0;
}

/* Returns "submitted as job 7", or that it would be submitted. */
static const char *say_job(const struct workspace *w, const char *id, char dst[160])
{
    if (strcmp(w->scheduler, "dry") == 0)
        snprintf(dst, 160, "would be submitted");
    else
        snprintf(dst, 160, "submitted as job %.128s", id);
    return dst;
}

static void print_item(const struct workspace *w, const struct batch_item *item, const char *id)
{
    const struct layout *l = &item->run.layout;
    char job[160];

    log_info("%s: %s (%d GPU%s, %d node%s, %d task%s, %s)", item->run.id, say_job(w, id, job),
             l->gpus, plural(l->gpus), l->nodes, plural(l->nodes), l->tasks,
             plural(l->tasks), layout_strategy_encode(l->strategy));
    if (item->from)
        log_info("%s: attempt %d continues from the checkpoint of attempt %d%s", item->run.id,
                 item->attempt, item->from, item->run.resized ? ", with another number of GPUs"
                 : "");
    else if (item->attempt > 1)
        log_info("%s: attempt %d starts from the beginning, as there is no "
                 "checkpoint", item->run.id,
                 item->attempt);
}

/* Warns if a job's signal would be due before it starts. The job would then stop at once and
 * restart until slurm.requeues is used up. */
static void warn_of_time(const struct workspace *w)
{
    char text[256];

    if (plan_advice_time(w, text))
        log_warn("%s", text);
}

/* Jobs that are noted in the ledger together, and then submitted. */
struct chunk {
    struct batch_item *items;
    size_t count;
    struct attempt_job *jobs;
    struct job *bare; /* the member job of each of jobs, as the array for scheduler_submit_all */
    struct scheduler_result *results;
};

static void chunk_close(struct chunk *c)
{
    free(c->jobs);
    free(c->bare);
    free(c->results);
}

static int chunk_open(struct chunk *c, struct workspace *w, struct batch_item *items, size_t count,
                      struct err *e)
{
    *c = (struct chunk){.items = items,
                        .count = count,
                        .jobs = calloc(count, sizeof *c->jobs),
                        .bare = calloc(count, sizeof *c->bare),
                        .results = calloc(count, sizeof *c->results)};
    int rc = c->jobs && c->bare && c->results ? 0 : err_errno(e, ERR_INTERNAL, ENOMEM, "submit");

    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = attempt_job(w, &items[i].run, items[i].attempt, &c->jobs[i], e);
        c->bare[i] = c->jobs[i].job;
    }
    if (rc)
        chunk_close(c);
    return rc;
}

int batch_note(struct workspace *w, const struct batch *b, enum ledger_event event, const char *job,
               struct err *e)
{
    struct ledger_note *notes = calloc(b->count + 1, sizeof *notes);
    int rc = 0;

    if (!notes)
        return err_errno(e, ERR_INTERNAL, errno, "submit");
    for (size_t i = 0; i < b->count; i++)
        notes[i] = (struct ledger_note){
            .run = b->items[i].run.id, .attempt = b->items[i].attempt, .job = job};
    if (strcmp(w->scheduler, "dry") != 0)
        rc = ledger_append_all(&w->ledger, event, notes, b->count, w->scheduler, e);
    free(notes);
    return rc;
}

/* Appends an event to the ledger for each item with this outcome; a negative outcome means all
 * items. Does nothing if the scheduler is dry. */
static int note_chunk(struct workspace *w, const struct chunk *c, enum ledger_event event,
                      int outcome, struct err *e)
{
    struct ledger_note notes[CHUNK];
    size_t n = 0;

    if (strcmp(w->scheduler, "dry") == 0)
        return 0;
    for (size_t i = 0; i < c->count; i++)
        if (outcome < 0 || (int)c->results[i].outcome == outcome)
            notes[n++] = (struct ledger_note){
                .run = c->items[i].run.id,
                .attempt = c->items[i].attempt,
                .job = outcome == SCHEDULER_SUBMITTED ? c->results[i].id : NULL};
    return ledger_append_all(&w->ledger, event, notes, n, w->scheduler, e);
}

/* The feed of submissions (struct scheduler_feed): the files of an item get their final names just
 * before its job is submitted. They become durable only after the scheduler's answer. A power
 * failure in between may lose files, which the next submission writes again, but no submission,
 * because the ledger has it. */
struct delivery {
    struct batch *batch;
    size_t begin; /* the item of the first job that is passed to scheduler_submit_all */
};

static int deliver(void *arg, size_t i, struct err *e)
{
    const struct delivery *d = arg;

    return write_queue_wait(&d->batch->files, d->begin + i, e);
}

/* Submits the chunk's jobs. With --max-in-flight (the lanes of dependency.h) a job needs the id of
 * an earlier one, so they are submitted one by one. */
static int hand_over(struct chunk *c, struct scheduler *scheduler, struct dependency *dependency,
                     struct delivery *delivery, const char *in_flight, struct err *e)
{
    const struct scheduler_feed feed = {deliver, delivery};
    size_t step = dependency->nlanes ? 1 : c->count;
    bool failed;

    for (size_t i = 0; i < c->count; i++)
        c->bare[i].options.dependency = dependency->fixed;
    for (size_t i = 0; i < c->count; i += step) {
        if (dependency->nlanes) {
            c->bare[i].options.dependency = dependency_next(dependency, &failed);
            if (failed)
                return err_errno(e, ERR_INTERNAL, ENOMEM, "submit");
        }
        scheduler_submit_all(scheduler, &c->bare[i], step, in_flight, &feed, &c->results[i]);
        delivery->begin += step;
        if (dependency->nlanes && c->results[i].outcome != SCHEDULER_SUBMITTED)
            break;
        dependency_add(dependency, c->results[i].id);
    }
    return 0;
}

/* Reports the first item that was refused or whose answer was lost. A refusal because of a limit,
 * which leaves items for later, only sets is_full. */
static int find_failure(const struct chunk *c, struct batch *b, struct err *e)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct scheduler_result *r = &c->results[i];
        if (r->outcome != SCHEDULER_REFUSED && r->outcome != SCHEDULER_LOST)
            continue;
        if (r->is_full) {
            b->is_full = true;
            b->limit = r->reason;
            continue;
        }
        *e = r->reason;
        e->code = ERR_SCHED;
        err_prefix(e, "%s", c->items[i].run.id);
        if (r->outcome == SCHEDULER_LOST)
            err_prefix(e, LOST_TEXT);
        return -1;
    }
    return 0;
}

static bool has_lost(const struct chunk *c)
{
    size_t i = 0;

    while (i < c->count && c->results[i].outcome != SCHEDULER_LOST)
        i++;
    return i < c->count;
}

/* Submits a chunk. The ledger is fsynced before the first submission and after the last; if that
 * is interrupted in between, the tags show which jobs exist. */
static int submit_chunk(struct workspace *w, struct scheduler *scheduler,
                        struct dependency *dependency,
                        struct delivery *delivery, struct chunk *c, struct err *e)
{
    char in_flight[PATH_MAX];
    struct err later;
    int rc;

    in_flight_path(&w->ledger, in_flight);
    if ((!delivery->batch->noted && note_chunk(w, c, LEDGER_SUBMITTING, -1, e)) ||
        hand_over(c, scheduler, dependency, delivery, in_flight, e))
        return -1;
    rc = find_failure(c, delivery->batch, e);
    for (size_t i = 0; i < c->count; i++) {
        if (c->results[i].outcome == SCHEDULER_NOT_TRIED && delivery->batch->is_full)
            c->results[i].outcome = SCHEDULER_REFUSED;
        if (c->results[i].outcome != SCHEDULER_SUBMITTED)
            continue;
        print_item(w, &c->items[i], c->results[i].id);
        delivery->batch->submitted++;
    }
    if (note_chunk(w, c, LEDGER_SUBMITTED, SCHEDULER_SUBMITTED, rc ? &later : e) ||
        note_chunk(w, c, LEDGER_REFUSED, SCHEDULER_REFUSED, rc ? &later : e))
        return -1;
    if (!has_lost(c))
        in_flight_remove(&w->ledger);
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

/* Checks the largest job, since jobs differ only in size. If Slurm refuses the smallest, which
 * comes first, nothing has been submitted either. The check needs the script, and waits until it is
 * written, only if the script has directives of its own or there are extra options. */
static int check_largest(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                         struct err *e)
{
    const struct batch_item *largest = find_largest(b);
    struct attempt_job job;

    if (!largest)
        return 0;
    if (attempt_job(w, &largest->run, largest->attempt, &job, e))
        return -1;
    if (!job.job.own_directives && !job.job.options.nextra)
        job.job.script = NULL;
    else if (write_queue_wait(&b->files, (size_t)(largest - b->items), e))
        return -1;
    if (scheduler_check(scheduler, &job.job, e))
        return err_prefix(e, "nothing was submitted: %s (%d GPU%s)", largest->run.id,
                          largest->run.layout.gpus, plural(largest->run.layout.gpus));
    return 0;
}

int batch_write(const struct workspace *w, struct batch *b, struct err *e)
{
    for (size_t i = 0; i < b->count; i++)
        if (attempt_generate(w, &b->items[i].run, b->items[i].attempt, &b->files, e))
            return -1;
    write_queue_start(&b->files);
    return 0;
}

bool batch_is_same(const struct batch *a, const struct batch *b)
{
    for (size_t i = 0; a->count == b->count && i < a->count; i++)
        if (strcmp(a->items[i].run.id, b->items[i].run.id) != 0 ||
            a->items[i].attempt != b->items[i].attempt)
            return false;
    return a->count == b->count;
}

/* ---- all in one job ---- */

static int submit_as_one(struct workspace *w, struct scheduler *scheduler,
                         const struct allocation *a, const struct batch *b, struct err *e)
{
    struct scheduler_result result;
    char in_flight[PATH_MAX];

    if (scheduler_check(scheduler, &a->job.job, e))
        return err_prefix(e, "nothing was submitted: one allocation for all");
    in_flight_path(&w->ledger, in_flight);
    if (batch_note(w, b, LEDGER_SUBMITTING, NULL, e))
        return -1;
    scheduler_submit_all(scheduler, &a->job.job, 1, in_flight, NULL, &result);
    if (result.outcome == SCHEDULER_SUBMITTED) {
        char job[160];
        log_info("%zu run%s %s (%d node%s, %d GPU%s; %s)", b->count, plural(b->count),
                 say_job(w, result.id, job), a->job.job.nodes, plural(a->job.job.nodes),
                 a->job.job.tasks, plural(a->job.job.tasks), a->name);
        if (batch_note(w, b, LEDGER_SUBMITTED, result.id, e))
            return -1;
        in_flight_remove(&w->ledger);
        return 0;
    }
    *e = result.reason;
    e->code = ERR_SCHED;
    if (result.outcome == SCHEDULER_LOST)
        return err_prefix(e, LOST_TEXT);
    struct err later;
    if (batch_note(w, b, LEDGER_REFUSED, NULL, &later) == 0)
        in_flight_remove(&w->ledger);
    return -1;
}

static int submit_allocation(struct workspace *w, struct scheduler *scheduler,
                             const struct dependency *dependency, struct delivery *delivery,
                             struct err *e)
{
    struct batch *b = delivery->batch;
    struct allocation_run *runs = calloc(b->count, sizeof *runs);
    struct allocation a;
    int rc = runs ? 0 : err_errno(e, ERR_INTERNAL, ENOMEM, "submit");

    for (size_t i = 0; rc == 0 && i < b->count; i++) {
        runs[i] = (struct allocation_run){&b->items[i].run, b->items[i].attempt};
        rc = deliver(delivery, i, e);
    }
    if (rc == 0)
        rc = allocation_describe(w, &find_largest(b)->run, &a, e) ||
                     allocation_write(w, &a, runs, b->count, e)
                 ? -1
                 : 0;
    if (rc == 0) {
        a.job.job.options.dependency = dependency->fixed;
        rc = submit_as_one(w, scheduler, &a, b, e);
    }
    if (rc == 0)
        b->submitted = b->count;
    free(runs);
    return rc;
}

static int submit_chunks(struct workspace *w, struct scheduler *scheduler,
                         struct dependency *dependency, struct delivery *delivery, struct err *e)
{
    struct batch *b = delivery->batch;
    int rc = 0;

    for (size_t i = 0; rc == 0 && !b->is_full && i < b->count; i += CHUNK) {
        struct chunk c;
        if (chunk_open(&c, w, &b->items[i], b->count - i < CHUNK ? b->count - i : CHUNK, e))
            return -1;
        b->handed_over = true;
        rc = submit_chunk(w, scheduler, dependency, delivery, &c, e);
        chunk_close(&c);
    }
    return rc;
}

int batch_check_cost(const struct workspace *w, const struct batch *b, double max_gpu_hours,
                     struct err *e)
{
    struct run_plan plan = {.count = b->count};
    struct allocation a;
    int rc;

    if (!(max_gpu_hours > 0) || !b->count)
        return 0;
    if (w->one_allocation)
        return allocation_describe(w, &find_largest(b)->run, &a, e) ||
                       allocation_check_cost(&a, w->options.time_min, max_gpu_hours, e)
                   ? -1
                   : 0;
    plan.runs = calloc(plan.count, sizeof *plan.runs);
    if (!plan.runs)
        return err_errno(e, ERR_INTERNAL, errno, "submit");
    for (size_t i = 0; i < plan.count; i++)
        plan.runs[i] = b->items[i].run;
    rc = run_cost_check(&plan, false, w->options.time_min, max_gpu_hours, e);
    free(plan.runs);
    return rc;
}

int batch_submit(struct workspace *w, struct batch *b, const struct job_state *jobs, size_t njobs,
                 struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->scheduler, e);
    struct delivery delivery = {.batch = b};
    struct dependency dependency;
    int rc;

    if (!scheduler || (b->count && data_split_make(w, e)))
        return -1;
    if (!b->files.begun && batch_write(w, b, e))
        return -1;
    if (b->count)
        warn_of_time(w);
    if ((!w->one_allocation && check_largest(w, scheduler, b, e)) ||
        dependency_open(&dependency, w, scheduler, jobs, njobs, e))
        return -1;
    if (w->one_allocation && b->count)
        rc = submit_allocation(w, scheduler, &dependency, &delivery, e);
    else
        rc = submit_chunks(w, scheduler, &dependency, &delivery, e);
    for (size_t i = delivery.begin; rc == 0 && b->is_full && i < b->count; i++)
        rc = deliver(&delivery, i - delivery.begin, e);
    if (rc == 0 && write_queue_sync(&b->files, e))
        rc = err_prefix(e, "the runs were submitted, but their files may be lost");
    dependency_close(&dependency);
    return rc;
}

void batch_close(struct batch *b)
{
    write_queue_destroy(&b->files);
    free(b->items);
}
