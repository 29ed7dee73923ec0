/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/submission.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/status/absent.h"
#include "launcher/status/run_status.h"
#include "launcher/study/run_dir.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/batch.h"
#include "launcher/submit/in_flight.h"
#include "launcher/submit/order.h"
#include "launcher/submit/run_settings.h"
#include "src/clock.h"
#include "src/log.h"

#define LOCK_TIMEOUT_S 60
#define UNSEEN_PAUSE_S 2.0

static int check_run_fits(const struct workspace *w, const struct run *run,
                          const struct scheduler_partition *p, struct err *e)
{
    const struct layout *l = &run->layout;
    int per_node = l->tasks_per_node * l->gpus_per_task;

    if (p->gpus_per_node && per_node > p->gpus_per_node)
        return err_set(e, ERR_SCHED, "nothing was submitted: for %d GPUs site %s plans %d GPUs per "
                       "node, but the nodes of partition %s have %d; set gpus_per_node: %d in %s, "
                       "or choose another partition (slurm.partition)",
                       l->gpus, w->site.name, per_node, p->name, p->gpus_per_node, p->gpus_per_node,
                       w->site.file);
    if (p->nodes && l->nodes > p->nodes)
        return err_set(e, ERR_SCHED, "nothing was submitted: %d GPUs need %d nodes, but partition "
                                     "%s "
                       "has %d, which is enough for %d GPUs",
                       l->gpus, l->nodes, p->name, p->nodes, p->nodes * w->site.gpus_per_node);
    return 0;
}

/* Checks that the partition has enough nodes, and GPUs per node, for each run. ERR_SCHED names the
 * first number of GPUs that does not fit, and what the partition has. */
static int check_limits(struct workspace *w, const struct run_plan *plan, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->scheduler, e);
    struct scheduler_partition p;

    if (!scheduler || scheduler_partition(scheduler, w->options.partition, &p, e))
        return -1;
    if (*p.unknown)
        log_info("%s: whether the runs fit is left to Slurm", p.unknown);
    for (size_t i = 0; i < plan->count; i++)
        if (check_run_fits(w, &plan->runs[i], &p, e))
            return -1;
    return 0;
}

/* Was the run never submitted, as far as its folder and the ledger show? */
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

/* Starts to write the files of runs that seem new, while the scheduler is queried for their jobs.
 * If choose_new then chooses other runs, the files are removed. An error is ignored here, since it
 * occurs again, and is reported, when runs are chosen or their files are written. */
static void stage_files(const struct workspace *w, const struct run_plan *plan,
                        struct batch *staged)
{
    struct err later;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < plan->count; i++)
        if (seems_new(w, &plan->runs[i]))
            rc = batch_add(staged, &plan->runs[i], 1, 0, &later);
    if (rc || batch_write(w, staged, &later)) {
        write_queue_destroy(&staged->files);
        staged->count = 0;
    }
}

/* Appends "submitting" for a new study, which cannot have jobs yet, before the scheduler answers.
 * Does nothing if split.json is missing, since making it may fail, with --one-allocation, or for a
 * dry scheduler. */
static int note_early(struct workspace *w, struct batch *staged, struct err *e)
{
    char split[PATH_MAX];

    snprintf(split, sizeof split, "%s/split.json", w->study.dir);
    if (w->one_allocation || strcmp(w->scheduler, "dry") == 0 || access(split, F_OK) != 0)
        return 0;
    staged->noted = true;
    return batch_note(w, staged, LEDGER_SUBMITTING, NULL, e);
}

/* Cancels the jobs of an attempt that have not ended, except job, which is one of jobs. The others
 * appeared after their answers were lost. Jobs with the same tag are neighbours in jobs. */
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
        if (other == job || other->phase == JOB_ENDED ||
            (other->uid >= 0 && other->uid != (long)getuid()))
            continue;
        log_warn("%s: attempt %d is job %s; its second job %s is cancelled", run, attempt, job->id,
                 other->id);
        if (scheduler_cancel(scheduler, other->id, e))
            return err_prefix(e, "%s", run);
    }
    return scheduler ? 0 : -1;
}

/* Decides the state of one attempt from its folder, the ledger, and the jobs that the scheduler
 * knows. If it has several jobs, cancels all but one. */
static int decide_attempt(struct workspace *w, const char *run, const struct job_state *jobs,
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

/* Adds a job to the ledger that is missing there: unetctl was killed before it noted the job, or
 * a user submitted it by sbatch. */
static int adopt_job(struct workspace *w, const struct run *run, const struct run_status *s,
                     struct err *e)
{
    int attempt = s->attempt.number ? s->attempt.number : 1;
    const struct ledger_entry *entry = ledger_find(&w->ledger, run->id, attempt);

    if (!*s->job || run_status_is_others(s) ||
        (entry && (entry->last == LEDGER_SUBMITTED || entry->last == LEDGER_CANCELLED)))
        return 0;
    log_info("%s is job %s already", run->id, s->job);
    return ledger_append(&w->ledger, LEDGER_SUBMITTED, run->id, attempt, w->scheduler, s->job, e);
}

/* Marks a job that has vanished before it began as never submitted, so that the same attempt is
 * submitted again: a controller that crashes forgets jobs that it has just accepted. Only jobs
 * of the scheduler that was queried can be judged. */
static void forget_vanished(const struct workspace *w, struct run_status *s)
{
    const struct ledger_entry *entry =
        ledger_find(&w->ledger, s->run.id, s->attempt.number ? s->attempt.number : 1);

    if (s->detail != RUN_LOST || run_status_is_foreign(w, s))
        return;
    if (entry && strcmp(entry->scheduler, w->scheduler) != 0) {
        log_info("%s is job %s of scheduler %s, which is not asked here ('unetctl status' asks it)",
                 s->run.id, s->job, entry->scheduler);
        s->phase = RUN_ACTIVE;
        return;
    }
    if (s->attempt.begun)
        return;
    log_warn("%s: the scheduler has lost job %s, which never began; the run is submitted again",
             s->run.id, s->job);
    s->phase = RUN_PLANNED;
}

/* Would a run be submitted again if its job turned out to be lost? Then reports that, waits, and
 * returns true. */
static bool wait_for_unseen(const struct workspace *w, const struct run_status_list *list,
                            bool *is_reported)
{
    size_t i = 0;

    while (i < list->count &&
           (list->runs[i].detail != RUN_UNSEEN || list->runs[i].attempt.begun ||
            run_status_is_foreign(w, &list->runs[i])))
        i++;
    if (i == list->count)
        return false;
    if (!*is_reported)
        log_info("waiting: %s: %s", list->runs[i].run.id, list->runs[i].reason);
    *is_reported = true;
    clock_sleep(UNSEEN_PAUSE_S);
    return true;
}

/* Refuses a run that was submitted with other settings, even if it needs nothing. Restores files
 * that a power failure removed. */
static int check_files(const struct workspace *w, const struct run *run, const struct run_status *s,
                       struct err *e)
{
    int attempt = s->attempt.number ? s->attempt.number : 1;
    struct err damage;

    if (run_status_is_foreign(w, s))
        return run_settings_compare(w, run, e);
    int whole = s->attempt.begun ? 1 : attempt_is_whole(w, run, attempt, &damage, e);
    if (whole)
        return whole < 0 ? -1 : run_settings_compare(w, run, e);
    log_warn("%s: writing its files again: %s", run->id, damage.text);
    return attempt_write(w, run, attempt, e);
}

/* Decides the state of all runs of the plan. */
static int decide_all(struct workspace *w, const struct run_plan *plan,
                      const struct job_state *jobs,
                      size_t njobs, struct run_status_list *dst, struct err *e)
{
    dst->runs = calloc(plan->count ? plan->count : 1, sizeof *dst->runs);
    if (!dst->runs)
        return err_errno(e, ERR_INTERNAL, errno, "submit");
    for (; dst->count < plan->count; dst->count++) {
        struct run_status *s = &dst->runs[dst->count];
        s->run = plan->runs[dst->count];
        snprintf(s->scheduler, sizeof s->scheduler, "%s", w->scheduler);
        if (decide_attempt(w, s->run.id, jobs, njobs, s, e))
            return -1;
    }
    if (absent_resolve(w, dst, e))
        return -1;
    if (dst->unreachable)
        *e = dst->reason;
    return dst->unreachable ? -1 : 0;
}

/* Reports a run that is left to its submitter, or whose state is hidden. */
static void leave_alone(const struct run_status *s, struct submission_counts *counts)
{
    if (s->phase == RUN_UNKNOWN)
        log_warn("%s is left alone: %s", s->run.id, s->reason);
    else
        log_warn("%s is left alone: it is %s, submitted by %s ('--take-over' acts on it "
                 "nevertheless)", s->run.id, s->state, s->user);
    counts->others++;
}

static int choose_run(struct workspace *w, struct run_status *s, struct batch *b,
                      struct submission_counts *counts, struct err *e)
{
    const struct run *run = &s->run;

    if (adopt_job(w, run, s, e))
        return -1;
    forget_vanished(w, s);
    if (s->phase == RUN_UNKNOWN ||
        (run_status_is_foreign(w, s) && (s->phase == RUN_PLANNED || s->phase == RUN_BAD))) {
        leave_alone(s, counts);
        return 0;
    }
    /* an attempt with an own run.json may be of another size, which only resume knows */
    bool is_next = s->phase == RUN_PLANNED && !s->attempt.begun;
    bool is_bad = s->phase == RUN_BAD || (s->phase == RUN_PLANNED && !is_next);
    if (is_next ? s->attempt.number > 1 && run_settings_compare(w, run, e)
                : check_files(w, run, s, e))
        return -1;
    if (is_next)
        return batch_add(b, run, s->attempt.number ? s->attempt.number : 1, 0, e);
    if (is_bad)
        log_warn("%s: %s in attempt %d%s%s ('unetctl resume %s' tries again)", run->id, s->state,
                 s->attempt.number, *s->reason ? ": " : "", s->reason, run->id);
    counts->bad += is_bad;
    counts->active += s->phase == RUN_ACTIVE;
    counts->good += s->phase == RUN_GOOD;
    return 0;
}

static int choose_new(struct workspace *w, struct run_status_list *list, struct batch *b,
                      struct submission_counts *counts, struct err *e)
{
    for (size_t i = 0; i < list->count; i++)
        if (choose_run(w, &list->runs[i], b, counts, e))
            return -1;
    return 0;
}

/* Locks the ledger, after ending helpers that were started earlier. They do not share the lock,
 * and could still submit while the next unetctl does. */
static int lock_ledger(struct workspace *w, struct err *e)
{
    for (int i = 0; i < WORKSPACE_NKINDS; i++) {
        scheduler_close(w->open[i]);
        w->open[i] = NULL;
    }
    return ledger_lock(&w->ledger, LOCK_TIMEOUT_S, e);
}

/* Queries the jobs of the study, after waiting for those of lost answers. */
static int query_jobs(struct workspace *w, struct job_state **jobs, size_t *njobs, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, w->scheduler, e);

    if (!scheduler || in_flight_settle(&w->ledger, scheduler, e))
        return -1;
    return run_status_query(w, w->scheduler, jobs, njobs, e);
}

/* Queries the study's jobs, and decides all runs of the plan. Repeats both while it is not yet sure
 * that a job is lost whose run would be submitted again. A study without an id before cannot have
 * jobs yet. */
static int survey(struct workspace *w, const struct run_plan *plan, bool is_new,
                  struct job_state **jobs, size_t *njobs, struct run_status_list *list,
                  struct err *e)
{
    bool is_reported = false;

    do {
        run_status_destroy(list);
        free(*jobs);
        *jobs = NULL;
        if ((!is_new && query_jobs(w, jobs, njobs, e)) ||
            decide_all(w, plan, *jobs, *njobs, list, e))
            return -1;
    } while (wait_for_unseen(w, list, &is_reported));
    return 0;
}

/* Announces queries to the scheduler, so that it prepares the answers meanwhile. is_new: the
 * study cannot have jobs yet. */
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
    scheduler_announce(scheduler, is_new ? NULL : prefix, ledger_has_others(&w->ledger),
                       w->one_allocation ? NULL : &job.job);
    return 0;
}

/* Removes the events of note_early if nothing was submitted. */
static void withdraw_notes(struct workspace *w, const struct batch *b)
{
    struct err later;

    if (b->noted && !b->handed_over && ledger_clear(&w->ledger, &later))
        log_debug("%s", later.text);
}

static int submit_batch(struct workspace *w, struct batch *b, const struct job_state *jobs,
                        size_t njobs, struct submission_counts *counts, struct err *e)
{
    int rc = batch_submit(w, b, jobs, njobs, e);

    counts->submitted = b->submitted;
    counts->left = rc == 0 ? b->count - b->submitted : 0;
    counts->limit = b->limit;
    return rc;
}

/* Submits the runs of the plan in its order. Requires the ledger's lock. */
static int submit_in_order(struct workspace *w, const struct run_plan *plan,
                           struct submission_counts *counts, struct err *e)
{
    struct batch b = {0}, staged = {0};
    struct run_status_list list = {0};
    struct job_state *jobs = NULL;
    size_t njobs = 0;
    int rc = -1;

    bool is_new = w->ledger.is_new;
    if (announce(w, plan, is_new, e) == 0 && ledger_keep_id(&w->ledger, e) == 0) {
        stage_files(w, plan, &staged);
        if ((!is_new || note_early(w, &staged, e) == 0) && check_limits(w, plan, e) == 0 &&
            survey(w, plan, is_new, &jobs, &njobs, &list, e) == 0 &&
            choose_new(w, &list, &b, counts, e) == 0) {
            bool as_staged = staged.count && batch_is_same(&b, &staged);
            if (!as_staged)
                write_queue_destroy(&staged.files);
            rc = submit_batch(w, as_staged ? &staged : &b, jobs, njobs, counts, e);
        }
        withdraw_notes(w, &staged);
    }
    run_status_destroy(&list);
    batch_close(&staged);
    batch_close(&b);
    free(jobs);
    return rc;
}

int submission_submit(struct workspace *w, const struct run_plan *plan,
                      struct submission_counts *counts, struct err *e)
{
    struct run_plan ordered = {0};

    *counts = (struct submission_counts){0};
    if (lock_ledger(w, e))
        return -1;
    int rc = order_runs(w, plan, &ordered, e);
    if (rc == 0)
        rc = submit_in_order(w, &ordered, counts, e);
    run_plan_destroy(&ordered);
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
    for (size_t i = 0; i < nids; i++)
        if (run_dir_check_id(w->study.dir, ids[i], e))
            return -1;
    return 0;
}

/* Was the newest attempt made by resume, but not submitted? */
static bool was_refused(const struct run_status *s)
{
    return s->phase == RUN_PLANNED && s->attempt.number > 1;
}

static int add_again(const struct workspace *w, const struct run_status *s,
                     const struct submission_size *size, struct batch *b, struct err *e)
{
    bool is_unused = was_refused(s) && !s->attempt.begun;
    int attempt = s->attempt.number + !is_unused;
    int from = run_dir_checkpoint(w->study.dir, s->run.id, s->attempt.number);
    struct run run = s->run;
    struct workspace own;
    int rc;

    if (run_settings_open(w, run.id, &own, NULL, e))
        return -1;
    rc = run_settings_check(w, &own, &run, e);
    if (rc == 0 && size->gpus)
        rc = run_plan_resize(&own.study, &w->site, &run, size->gpus, size->scale, e);
    run_settings_close(&own);
    return rc ? -1 : batch_add(b, &run, attempt, from, e);
}

static int choose_ended(const struct workspace *w, const struct run_status *s, bool is_named,
                        const struct submission_size *size, struct batch *b,
                        struct submission_counts *counts, struct err *e)
{
    if (!run_status_is_foreign(w, s))
        return add_again(w, s, size, b, e);
    if (is_named)
        return err_set(e, ERR_USAGE, "%s is %s, and was submitted by %s, who can resume it; add "
                       "--take-over to do so yourself", s->run.id, s->state, s->user);
    leave_alone(s, counts);
    return 0;
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
            return err_set(e, ERR_DATA, "cannot read the plan of %s: %s", s->run.id, s->damage);
        if (*s->damage) {
            log_warn("%s is left out: cannot read its plan: %s", s->run.id, s->damage);
            counts->bad += s->phase == RUN_BAD;
        } else if (s->phase == RUN_BAD || was_refused(s)) {
            if (choose_ended(w, s, nids > 0, size, b, counts, e))
                return -1;
        } else if (nids) {
            return err_set(e, ERR_USAGE, "%s is %s%s%s; only runs that ended without a result can "
                           "be resumed", s->run.id, s->state, s->detail == RUN_PLAIN ? "" : ", ",
                           s->detail == RUN_PLAIN ? "" : s->reason);
        } else if (s->phase == RUN_UNKNOWN) {
            leave_alone(s, counts);
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
    if (check_ids(w, ids, nids, e) || lock_ledger(w, e))
        return -1;
    if (query_jobs(w, &jobs, &njobs, e) == 0 && run_status_collect(w, &list, e) == 0) {
        if (list.unreachable)
            *e = list.reason;
        else if (choose_again(w, &list, ids, nids, size, &b, counts, e) == 0 &&
                 batch_check_cost(w, &b, size->max_gpu_hours, e) == 0)
            rc = submit_batch(w, &b, jobs, njobs, counts, e);
    }
    run_status_destroy(&list);
    batch_close(&b);
    free(jobs);
    ledger_unlock(&w->ledger);
    return rc;
}
