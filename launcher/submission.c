/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submission.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/allocation.h"
#include "launcher/attempt.h"
#include "launcher/dependency.h"
#include "launcher/in_flight.h"
#include "launcher/model_look.h"
#include "launcher/run_dir.h"
#include "launcher/run_status.h"
#include "launcher/trainer_program.h"
#include "src/log.h"

#define LOCK_TIMEOUT_S 60
#define CHUNK 64 /* jobs that are noted at once */
#define LOST_TEXT "the answer was lost ('unetctl submit' again finds out whether the job exists)"

/* The attempts to submit. */
struct batch {
    struct item {
        struct run run;
        int attempt;
        int from; /* earlier attempt whose checkpoint it goes on from, 0: none has */
    } * items;
    size_t count;
    struct staging files; /* theirs; run i is item i */
    bool noted;           /* that they are being submitted */
    bool handed_over;     /* and so it is: what becomes of each is noted one by one */
};

static int add_item(struct batch *b, const struct run *run, int attempt, int from, struct err *e)
{
    struct item *grown = realloc(b->items, (b->count + 1) * sizeof *grown);

    if (!grown)
        return err_errno(e, ERR_INTERNAL, errno, "submit");
    b->items = grown;
    b->items[b->count++] = (struct item){.run = *run, .attempt = attempt, .from = from};
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

/* Masks, or a class for each image: what the data have and the embedded networks learn. */
static int check_split(const struct workspace *w, const char *file, struct err *e)
{
    const char *model = w->study.model.name;
    bool ours = strcmp(w->study.engine, "embedded") == 0;
    struct model_look look = {0};

    if (!ours)
        return 0;
    /* Of the usual one the trainer need not be asked, which takes as long as all else here. */
    if (strcmp(model, "unet") != 0 && model_look_open(&w->study, true, &look, e))
        return -1;
    bool wants_masks = !look.of_classes;
    json_t *root = json_load_file(file, 0, NULL);
    bool has_classes = json_object_get(root, "classes") != NULL, known = root != NULL;

    json_decref(root);
    if (!known || wants_masks != has_classes)
        return 0;
    return err_set(e, ERR_CONFIG, wants_masks
                       ? "model.name %s needs a mask for each image, and in %s an image has one class "
                         "as a whole: --model resnet44 (or 20, 32, 56, 110)"
                       : "model.name %s gives each image one class as a whole, and %s has masks: "
                         "--model unet", model, w->study.data.dir);
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
        return check_split(w, file, e);
    snprintf(fraction, sizeof fraction, "%.17g", w->study.data.val_fraction);
    snprintf(classes, sizeof classes, "%ld", w->study.data.classes);
    snprintf(seed, sizeof seed, "%ld", w->study.data.split_seed);
    log_info("splitting %s into training and validation: %s", w->study.data.dir, file);
    return trainer_program_run(argv, e) ? -1 : check_split(w, file, e);
}

static void describe(const struct item *item, const char *id)
{
    const struct layout *l = &item->run.layout;

    log_info("%s: submitted as job %s (%d GPU%s, %d node%s, %d task%s, %s)", item->run.id, id,
             l->gpus, l->gpus > 1 ? "s" : "", l->nodes, l->nodes > 1 ? "s" : "", l->tasks,
             l->tasks > 1 ? "s" : "", layout_strategy_encode(l->strategy));
    if (item->from)
        log_info("%s: attempt %d goes on from the checkpoint of attempt %d%s", item->run.id,
                 item->attempt, item->from, item->run.resized ? ", with another number of GPUs" : "");
    else if (item->attempt > 1)
        log_info("%s: attempt %d starts from the beginning: there is no checkpoint", item->run.id,
                 item->attempt);
}

/* Jobs that are noted and submitted together. */
struct chunk {
    struct item *items;
    size_t count;
    struct attempt_job *jobs;
    struct job *bare; /* of jobs, as scheduler_submit_all takes them */
    struct scheduler_result *results;
};

static void chunk_close(struct chunk *c)
{
    free(c->jobs);
    free(c->bare);
    free(c->results);
}

static int chunk_open(struct chunk *c, struct workspace *w, struct item *items, size_t count,
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

/* One event for each item. job: of all of them, or NULL. A dry scheduler keeps nothing, so nothing is noted
 * of it either. */
static int note_items(struct workspace *w, const struct batch *b, enum ledger_event event,
                      const char *job, struct err *e)
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

/* Likewise for each item with this outcome (negative: any). */
static int note(struct workspace *w, const struct chunk *c, enum ledger_event event, int outcome,
                struct err *e)
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

/* The files of items from begin on are due when their jobs are. They become durable while jobs are
 * submitted: what a power failure in this moment may cost is files, which the next submission writes
 * again, and not what was submitted, which the ledger knows before. */
struct delivery {
    struct batch *batch;
    size_t begin;
};

static int deliver(void *arg, size_t i, struct err *e)
{
    const struct delivery *d = arg;

    return staging_take(&d->batch->files, d->begin + i, e);
}

/* With lanes a job waits for another one's id, so they go one by one; else all at once. */
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

/* The first that did not become a job, as an error. */
static int find_failure(const struct chunk *c, struct err *e)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct scheduler_result *r = &c->results[i];
        if (r->outcome != SCHEDULER_REFUSED && r->outcome != SCHEDULER_LOST)
            continue;
        *e = r->reason;
        e->code = ERR_SCHED;
        err_prefix(e, "%s", c->items[i].run.id);
        if (r->outcome == SCHEDULER_LOST)
            err_prefix(e, LOST_TEXT);
        return -1;
    }
    return 0;
}

/* One fsync before the first of them is submitted and one behind the last. What was interrupted
 * between the two is found by its tag. */
static int submit_chunk(struct workspace *w, struct scheduler *scheduler, struct dependency *dependency,
                        struct delivery *delivery, struct chunk *c, struct submission_counts *counts,
                        struct err *e)
{
    char in_flight[PATH_MAX];
    struct err later;
    int rc;

    in_flight_path(&w->ledger, in_flight);
    if ((!delivery->batch->noted && note(w, c, LEDGER_SUBMITTING, -1, e)) ||
        hand_over(c, scheduler, dependency, delivery, in_flight, e))
        return -1;
    rc = find_failure(c, e);
    for (size_t i = 0; i < c->count; i++) {
        if (c->results[i].outcome != SCHEDULER_SUBMITTED)
            continue;
        describe(&c->items[i], c->results[i].id);
        counts->submitted++;
    }
    if (note(w, c, LEDGER_SUBMITTED, SCHEDULER_SUBMITTED, rc ? &later : e) ||
        note(w, c, LEDGER_REFUSED, SCHEDULER_REFUSED, rc ? &later : e))
        return -1;
    return rc;
}

static const struct item *find_largest(const struct batch *b)
{
    const struct item *largest = b->items;

    for (size_t i = 1; i < b->count; i++)
        if (b->items[i].run.layout.gpus > largest->run.layout.gpus)
            largest = &b->items[i];
    return largest;
}

/* Jobs differ in their size only: what holds for the largest holds for all. The smallest of a plan
 * comes first, so if Slurm refuses that one nothing was submitted either. Only sbatch looks into the
 * script, which may still be written. */
static int check_largest(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                         struct err *e)
{
    const struct item *largest = find_largest(b);
    struct attempt_job job;

    if (!largest)
        return 0;
    if (attempt_job(w, &largest->run, largest->attempt, &job, e))
        return -1;
    if (!job.job.own_directives && !job.job.options.nextra)
        job.job.script = NULL;
    else if (staging_take(&b->files, (size_t)(largest - b->items), e))
        return -1;
    if (scheduler_check(scheduler, &job.job, e))
        return err_prefix(e, "%s (%d GPUs; nothing was submitted)", largest->run.id,
                          largest->run.layout.gpus);
    return 0;
}

/* ---- the files of the runs */

static int write_files(const struct workspace *w, struct batch *b, struct err *e)
{
    for (size_t i = 0; i < b->count; i++)
        if (attempt_generate(w, &b->items[i].run, b->items[i].attempt, &b->files, e))
            return -1;
    staging_begin(&b->files);
    return 0;
}

static bool same_items(const struct batch *a, const struct batch *b)
{
    for (size_t i = 0; a->count == b->count && i < a->count; i++)
        if (strcmp(a->items[i].run.id, b->items[i].run.id) != 0 ||
            a->items[i].attempt != b->items[i].attempt)
            return false;
    return a->count == b->count;
}

/* Was the run never submitted, as far as folder and ledger know? */
static bool seems_new(const struct workspace *w, const struct run *run)
{
    const struct ledger_entry *entry = ledger_find(&w->ledger, run->id, 0);
    struct run_attempt newest;
    struct err ignored;

    if (run_dir_attempt(w->study.dir, run->id, &newest, &ignored))
        return false;
    return !newest.begun && newest.number <= 1 &&
           (!entry || entry->last == LEDGER_SUBMITTING || entry->last == LEDGER_REFUSED);
}

/* Whether these runs have jobs the scheduler must tell. While it answers, their files are written,
 * and dropped should it know better. What fails here fails again, and is told, when due. */
static void stage(const struct workspace *w, const struct run_plan *plan, struct batch *staged)
{
    struct err later;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < plan->count; i++)
        if (seems_new(w, &plan->runs[i]))
            rc = add_item(staged, &plan->runs[i], 1, 0, &later);
    if (rc || write_files(w, staged, &later)) {
        staging_destroy(&staged->files);
        staged->count = 0;
    }
}

/* The intents of a new study, which no job can be of, need not wait for the scheduler's answers either. */
static int note_early(struct workspace *w, struct batch *staged, struct err *e)
{
    char split[PATH_MAX];

    snprintf(split, sizeof split, "%s/split.json", w->study.dir);
    if (w->one_allocation || strcmp(w->scheduler, "dry") == 0 || access(split, F_OK) != 0)
        return 0;
    staged->noted = true;
    return note_items(w, staged, LEDGER_SUBMITTING, NULL, e);
}

/* ---- all in one job ---- */

static int submit_as_one(struct workspace *w, struct scheduler *scheduler,
                         const struct allocation *a, const struct batch *b, struct err *e)
{
    struct scheduler_result result;
    char in_flight[PATH_MAX];

    if (scheduler_check(scheduler, &a->job.job, e))
        return err_prefix(e, "one allocation for all (nothing was submitted)");
    in_flight_path(&w->ledger, in_flight);
    if (note_items(w, b, LEDGER_SUBMITTING, NULL, e))
        return -1;
    scheduler_submit_all(scheduler, &a->job.job, 1, in_flight, NULL, &result);
    if (result.outcome == SCHEDULER_SUBMITTED) {
        log_info("%zu run%s submitted as job %s (%d nodes, %d GPUs; %s)", b->count,
                 b->count > 1 ? "s" : "", result.id, a->job.job.nodes, a->job.job.tasks, a->name);
        return note_items(w, b, LEDGER_SUBMITTED, result.id, e);
    }
    *e = result.reason;
    e->code = ERR_SCHED;
    if (result.outcome == SCHEDULER_LOST)
        return err_prefix(e, LOST_TEXT);
    struct err later;
    note_items(w, b, LEDGER_REFUSED, NULL, &later);
    return -1;
}

static int submit_allocation(struct workspace *w, struct scheduler *scheduler,
                             const struct dependency *dependency, struct delivery *delivery,
                             struct submission_counts *counts, struct err *e)
{
    const struct batch *b = delivery->batch;
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
        counts->submitted = b->count;
    free(runs);
    return rc;
}

static int submit_chunks(struct workspace *w, struct scheduler *scheduler,
                         struct dependency *dependency, struct delivery *delivery,
                         struct submission_counts *counts, struct err *e)
{
    struct batch *b = delivery->batch;
    int rc = 0;

    b->handed_over = true;
    for (size_t i = 0; rc == 0 && i < b->count; i += CHUNK) {
        struct chunk c;
        if (chunk_open(&c, w, &b->items[i], b->count - i < CHUNK ? b->count - i : CHUNK, e))
            return -1;
        rc = submit_chunk(w, scheduler, dependency, delivery, &c, counts, e);
        chunk_close(&c);
    }
    return rc;
}

/* All checks for all items come before the first submission. */
static int submit_batch(struct workspace *w, struct batch *b, const struct job_state *jobs,
                        size_t njobs, struct submission_counts *counts, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->scheduler, e);
    struct delivery delivery = {.batch = b};
    struct dependency dependency;
    int rc;

    if (!scheduler || (b->count && make_split(w, e)))
        return -1;
    if (!b->files.begun && write_files(w, b, e))
        return -1;
    if ((!w->one_allocation && check_largest(w, scheduler, b, e)) ||
        dependency_open(&dependency, w, scheduler, jobs, njobs, e))
        return -1;
    if (w->one_allocation && b->count)
        rc = submit_allocation(w, scheduler, &dependency, &delivery, counts, e);
    else
        rc = submit_chunks(w, scheduler, &dependency, &delivery, counts, e);
    if (rc == 0 && b->count && staging_finish(&b->files, e))
        rc = err_prefix(e, "the runs are submitted, but their files may not last");
    dependency_close(&dependency);
    return rc;
}

/* An attempt has one job: one that came late, after its answer was lost, is withdrawn. */
static int withdraw_others(struct workspace *w, const char *run, int attempt,
                           const struct job_state *job, const struct job_state *jobs, size_t njobs,
                           struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->scheduler, e);

    size_t i = (size_t)(job - jobs);

    while (i > 0 && strcmp(jobs[i - 1].tag, job->tag) == 0)
        i--;
    for (; scheduler && i < njobs && strcmp(jobs[i].tag, job->tag) == 0; i++) {
        const struct job_state *other = &jobs[i];
        if (other == job || other->phase == JOB_ENDED)
            continue;
        log_warn("%s: attempt %d is job %s; its second job %s is cancelled", run, attempt, job->id,
                 other->id);
        if (scheduler_cancel(scheduler, other->id, e))
            return err_prefix(e, "%s", run);
    }
    return scheduler ? 0 : -1;
}

/* The state of one attempt, from its folder, the ledger and the jobs that the scheduler knows. */
static int decide(struct workspace *w, const char *run, const struct job_state *jobs,
                  size_t njobs, struct run_status *s, struct err *e)
{
    const struct job_state *job;
    int attempt;

    if (run_dir_attempt(w->study.dir, run, &s->attempt, e))
        return -1;
    attempt = s->attempt.number ? s->attempt.number : 1;
    job = run_status_find_job(w, run, attempt, s->attempt.job, jobs, njobs);
    run_status_decide(s, job, ledger_find(&w->ledger, run, attempt));
    return job && njobs > 1 ? withdraw_others(w, run, attempt, job, jobs, njobs, e) : 0;
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

/* A controller that crashes forgets jobs that it had just taken. One that never began is submitted
 * again, as the same attempt. */
static void forget_vanished(struct run_status *s)
{
    if (s->phase != RUN_BAD || strcmp(s->state, "LOST") != 0 || s->attempt.begun)
        return;
    log_warn("%s: the scheduler no longer knows its job %s, which never began: submitting again",
             s->run.id, s->job);
    s->phase = RUN_PLANNED;
}

/* A run that was submitted under another study.yaml is refused, even if it needs nothing. One whose
 * files a power failure took away gets them again. */
static int check_files(const struct workspace *w, const struct run *run, const struct run_status *s,
                       struct err *e)
{
    struct run ignored;
    struct err damage;

    if (s->attempt.begun || run_dir_read(w->study.dir, run->id, &ignored, NULL, &damage) == 0)
        return attempt_compare(w, run, e);
    log_warn("%s: its files are written again (%s)", run->id, damage.text);
    return attempt_write(w, run, s->attempt.number ? s->attempt.number : 1, e);
}

static int choose_new(struct workspace *w, const struct run_plan *plan, const struct job_state *jobs,
                      size_t njobs, struct batch *b, struct submission_counts *counts,
                      struct err *e)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct run *run = &plan->runs[i];
        struct run_status s = {.run = *run};

        if (decide(w, run->id, jobs, njobs, &s, e) || adopt(w, run, &s, e))
            return -1;
        forget_vanished(&s);
        if (s.phase != RUN_PLANNED && check_files(w, run, &s, e))
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

/* A helper that was started before the lock does not share it, and a late one might submit while the
 * next unetctl does. */
static int lock(struct workspace *w, struct err *e)
{
    for (int i = 0; i < WORKSPACE_NKINDS; i++) {
        scheduler_close(w->open[i]);
        w->open[i] = NULL;
    }
    return ledger_lock(&w->ledger, LOCK_TIMEOUT_S, e);
}

/* The jobs of the study, the late ones included. */
static int query(struct workspace *w, struct job_state **jobs, size_t *njobs, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->scheduler, e);

    if (!scheduler || in_flight_settle(&w->ledger, scheduler, e))
        return -1;
    return run_status_query(w, w->scheduler, jobs, njobs, e);
}

/* Starts the scheduler's work on what will be asked; of a new plan that is all. is_new: no job can be
 * of this study yet. */
static int announce(struct workspace *w, const struct run_plan *plan, bool is_new, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->scheduler, e);
    const struct run *largest = plan->runs;
    struct attempt_job job;
    char prefix[256];

    if (!scheduler)
        return -1;
    for (size_t i = 1; i < plan->count; i++)
        if (plan->runs[i].layout.gpus > largest->layout.gpus)
            largest = &plan->runs[i];
    if (attempt_job(w, largest, 1, &job, e))
        return -1;
    ledger_tag(&w->ledger, NULL, 0, prefix);
    scheduler_announce(scheduler, is_new ? NULL : prefix, w->one_allocation ? NULL : &job.job);
    return 0;
}

/* Nothing was noted, if nothing was submitted after all. */
static void withdraw_notes(struct workspace *w, const struct batch *b)
{
    struct err later;

    if (b->noted && !b->handed_over && ledger_clear(&w->ledger, &later))
        log_debug("%s", later.text);
}

static void batch_close(struct batch *b)
{
    staging_destroy(&b->files);
    free(b->items);
}

int submission_submit(struct workspace *w, const struct run_plan *plan,
                      struct submission_counts *counts, struct err *e)
{
    struct batch b = {0}, staged = {0};
    struct job_state *jobs = NULL;
    size_t njobs = 0;
    int rc = -1;

    *counts = (struct submission_counts){0};
    if (lock(w, e))
        return -1;
    bool is_new = w->ledger.is_new;
    if (announce(w, plan, is_new, e) == 0 && ledger_keep_id(&w->ledger, e) == 0) {
        stage(w, plan, &staged);
        if ((!is_new || note_early(w, &staged, e) == 0) && submission_check_limits(w, plan, e) == 0 &&
            (is_new || query(w, &jobs, &njobs, e) == 0) &&
            choose_new(w, plan, jobs, njobs, &b, counts, e) == 0) {
            bool as_staged = staged.count && same_items(&b, &staged);
            if (!as_staged)
                staging_destroy(&staged.files);
            rc = submit_batch(w, as_staged ? &staged : &b, jobs, njobs, counts, e);
        }
        withdraw_notes(w, &staged);
    }
    batch_close(&staged);
    batch_close(&b);
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

static int add_again(const struct workspace *w, const struct run_status *s,
                     const struct submission_size *size, struct batch *b, struct err *e)
{
    int from = run_dir_checkpoint(w->study.dir, s->run.id, s->attempt.number);
    struct run run = s->run;

    if (size->gpus && run_plan_resize(&w->study, &w->site, &run, size->gpus, size->scale, e))
        return -1;
    return add_item(b, &run, s->attempt.number + 1, from, e);
}

static int choose_again(const struct workspace *w, const struct run_status_list *list, char **ids,
                        size_t nids, const struct submission_size *size, struct batch *b,
                        struct submission_counts *counts, struct err *e)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct run_status *s = &list->runs[i];

        if (!is_named(s->run.id, ids, nids))
            continue;
        if (*s->damage && nids)
            return err_set(e, ERR_DATA, "%s: its plan cannot be read: %s", s->run.id, s->damage);
        if (*s->damage) {
            log_warn("%s: left out, its plan cannot be read: %s", s->run.id, s->damage);
            counts->bad += s->phase == RUN_BAD;
        } else if (s->phase == RUN_BAD) {
            if (add_again(w, s, size, b, e))
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

int submission_resume(struct workspace *w, char **ids, size_t nids,
                      const struct submission_size *size, struct submission_counts *counts,
                      struct err *e)
{
    struct run_status_list list = {0};
    struct job_state *jobs = NULL;
    struct batch b = {0};
    size_t njobs = 0;
    int rc = -1;

    *counts = (struct submission_counts){0};
    if (check_ids(w, ids, nids, e) || lock(w, e))
        return -1;
    if (query(w, &jobs, &njobs, e) == 0 && run_status_collect(w, &list, e) == 0) {
        if (list.unreachable)
            *e = list.reason;
        else if (choose_again(w, &list, ids, nids, size, &b, counts, e) == 0)
            rc = submit_batch(w, &b, jobs, njobs, counts, e);
    }
    run_status_destroy(&list);
    batch_close(&b);
    free(jobs);
    ledger_unlock(&w->ledger);
    return rc;
}
