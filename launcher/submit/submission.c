/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/submit/submission.h"

#include <sys/mman.h>

#include "launcher/host/child.h"
#include "launcher/host/path.h"
#include "launcher/plan/cost.h"
#include "launcher/script/script.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/submit_internal.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/parallel.h"
#include "src/rng.h"

/* ---- the order of runs ---- */

/* Compares by block, then by chance. arg: the workspace. */
static int compare_runs(const void *a, const void *b, void *arg)
{
    const struct run *x = a, *y = b;
    const struct workspace *w = arg;
    uint64_t id = strtoull(w->ledger.study_id, NULL, 16);
    uint64_t draw = rng_u64(id, (uint64_t)x->seed, (uint64_t)x->layout.gpus);
    uint64_t other = rng_u64(id, (uint64_t)y->seed, (uint64_t)y->layout.gpus);
    int order = w->plan.one_allocation ? x->layout.gpus - y->layout.gpus : x->seed - y->seed;

    return order ? order : (draw > other) - (draw < other);
}

int order_runs(const struct workspace *w, const struct plan *plan, struct plan *dst,
               struct err *e)
{
    *dst = *plan;
    dst->runs = mem_alloc(plan->count, sizeof *dst->runs, e);
    if (!dst->runs)
        return -1;
    if (plan->count) {
        memcpy(dst->runs, plan->runs, plan->count * sizeof *dst->runs);
        qsort_r(dst->runs, plan->count, sizeof *dst->runs, compare_runs, (void *)w);
    }
    return 0;
}

/* ---- submitting ---- */

#define UNSEEN_PAUSE_S 2.0

/* Cancels the jobs of the run's attempt that have not ended, except its own. The others appeared
 * after their answers were lost. */
static int withdraw_others(struct workspace *w, const struct status_list *list,
                           const struct run_status *s, struct err *e)
{
    char tag[256];
    size_t n;

    ledger_tag(w->plan.study_id, s->run.id, s->attempt.number, tag);
    const struct job_state *jobs = *s->job ? status_list_jobs(list, tag, &n) : NULL;
    for (size_t i = 0; jobs && n > 1 && i < n; i++) {
        const struct job_state *other = &jobs[i];
        if (strcmp(other->id, s->job) == 0 || other->phase == PHASE_ENDED ||
            (other->uid >= 0 && other->uid != (long)getuid()))
            continue;
        log_warn("%s: attempt %d is job %s; its second job %s is cancelled", s->run.id,
                 s->attempt.number, s->job, other->id);
        struct scheduler *scheduler = workspace_scheduler(w, workspace_kind(w), e);
        if (!scheduler || scheduler_cancel(scheduler, other->id, e))
            return err_prefix(e, "%s", s->run.id);
    }
    return 0;
}

/* Adds a job to the ledger that is missing there: unetctl was killed before it noted the job, or
 * a user submitted it by sbatch. */
static int adopt_job(struct workspace *w, const struct run *run, const struct run_status *s,
                     struct err *e)
{
    const struct ledger_entry *entry = ledger_find(&w->ledger, run->id, s->attempt.number);

    if (!*s->job || run_status_is_others(s) ||
        (entry && (entry->last == LEDGER_SUBMITTED || entry->last == LEDGER_CANCELLED)))
        return 0;
    log_info("%s is job %s already", run->id, s->job);
    return ledger_append(&w->ledger, LEDGER_SUBMITTED, run->id, s->attempt.number, s->scheduler,
                         s->job, e);
}

/* Returns whether the job vanished before it began: a controller that crashes forgets jobs
 * that it has just accepted. Its attempt is submitted again. */
static bool has_vanished(const struct workspace *w, const struct run_status *s)
{
    return s->state == STATE_LOST && !s->attempt.begun && !run_status_is_foreign(w, s);
}

/* Would a run be submitted again if its job turned out to be lost? Then reports that, waits, and
 * returns true. */
static bool wait_for_unseen(const struct workspace *w, const struct status_list *list,
                            bool *is_reported)
{
    size_t i = 0;

    while (i < list->count &&
           (list->runs[i].state != STATE_UNSEEN || list->runs[i].attempt.begun ||
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
 * that were removed. */
static int check_files(const struct workspace *w, const struct run *run, const struct run_status *s,
                       struct err *e)
{
    struct err damage;

    if (run_status_is_foreign(w, s) || s->attempt.begun ||
        attempt_is_whole(&w->plan, run, s->attempt.number, &damage))
        return run_settings_compare(&w->plan, run, e);
    log_warn("%s: writing its files again: %s", run->id, damage.text);
    return attempt_write(&w->plan, run, s->attempt.number, e);
}

/* Reports a run that is left to its submitter, or whose state is hidden. */
static void leave_alone(const struct run_status *s, struct submission_counts *counts)
{
    if (s->phase == RUN_UNKNOWN)
        log_warn("%s is left alone: %s", s->run.id, s->reason);
    else
        log_warn("%s is left alone: it is %s, submitted by %s ('--take-over' acts on it "
                 "nevertheless)", s->run.id, state_name(s->state), s->user);
    counts->others++;
}

static int choose_run(struct workspace *w, const struct run_status *s, struct batch *b,
                      struct submission_counts *counts, struct err *e)
{
    const struct run *run = &s->run;
    bool vanished = has_vanished(w, s), planned = s->phase == RUN_PLANNED || vanished;

    if (adopt_job(w, run, s, e))
        return -1;
    if (vanished)
        log_warn("%s: the scheduler has lost job %s, which never began; the run is submitted again",
                 run->id, s->job);
    if (s->phase == RUN_UNKNOWN ||
        (run_status_is_foreign(w, s) && (planned || s->phase == RUN_BAD))) {
        leave_alone(s, counts);
        return 0;
    }
    /* an attempt with an own run.json may be of another size, which only resume knows */
    bool is_next = planned && !s->attempt.begun;
    bool is_bad = !is_next && (planned || s->phase == RUN_BAD);
    if (is_next ? s->attempt.number > 1 && run_settings_compare(&w->plan, run, e)
                : check_files(w, run, s, e))
        return -1;
    if (is_next)
        return batch_add(b, run, s->attempt.number, e);
    if (is_bad)
        log_warn("%s: %s in attempt %d%s%s ('unetctl resume %s' tries again)", run->id,
                 state_name(s->state),
                 s->attempt.number, *s->reason ? ": " : "", s->reason, run->id);
    counts->bad += is_bad;
    counts->active += s->phase == RUN_ACTIVE;
    counts->good += s->phase == RUN_GOOD;
    return 0;
}

static int choose_new(struct workspace *w, const struct status_list *list, struct batch *b,
                      struct submission_counts *counts, struct err *e)
{
    for (size_t i = 0; i < list->count; i++)
        if (withdraw_others(w, list, &list->runs[i], e) ||
            choose_run(w, &list->runs[i], b, counts, e))
            return -1;
    return 0;
}

/* Waits for the jobs of lost answers. */
static int settle(struct workspace *w, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, workspace_kind(w), e);

    return !scheduler || in_flight_settle(&w->ledger, scheduler, e) ? -1 : 0;
}

/* Decides all runs of the plan, again while it is not yet sure that a job is lost whose run would
 * be submitted again. */
static int survey(struct workspace *w, const struct plan *plan, struct status_list *list,
                  struct err *e)
{
    bool is_reported = false;

    do {
        status_list_destroy(list);
        if (settle(w, e) || status_list_decide(w, plan, list, e))
            return -1;
    } while (wait_for_unseen(w, list, &is_reported));
    return 0;
}

static int submit_batch(struct workspace *w, struct batch *b, const struct status_list *list,
                        struct submission_counts *counts, struct err *e)
{
    int rc = b->count ? bad_nodes_leave_out(w, list, e) : 0;

    if (rc == 0)
        rc = batch_submit(w, b, list->jobs, list->njobs, e);

    counts->submitted = b->submitted;
    counts->left = rc == 0 ? b->count - b->submitted : 0;
    counts->limit = b->limit;
    return rc;
}

/* Submits the runs of the plan in its order. Requires the ledger's lock. */
static int submit_in_order(struct workspace *w, const struct plan *plan,
                           struct submission_counts *counts, struct err *e)
{
    struct status_list list = {0};
    struct batch b = {0};
    int rc = -1;

    if (ledger_keep_id(&w->ledger, e) == 0 && survey(w, plan, &list, e) == 0 &&
        choose_new(w, &list, &b, counts, e) == 0)
        rc = submit_batch(w, &b, &list, counts, e);
    status_list_destroy(&list);
    batch_close(&b);
    return rc;
}

int submission_submit(struct workspace *w, const struct plan *plan,
                      struct submission_counts *counts, struct err *e)
{
    struct plan ordered = {0};

    *counts = (struct submission_counts){0};
    if (ledger_lock(&w->ledger, LEDGER_LOCK_S, e))
        return -1;
    counts->unwanted = w->is_wanted && !w->is_wanted(w, w->is_wanted_arg);
    int rc = counts->unwanted ? 0 : order_runs(w, plan, &ordered, e);
    if (rc == 0 && !counts->unwanted)
        rc = submit_in_order(w, &ordered, counts, e);
    plan_free_runs(&ordered);
    ledger_unlock(&w->ledger);
    return rc;
}

static int check_ids(const struct plan *p, char **ids, size_t nids, struct map *dst, struct err *e)
{
    for (size_t i = 0; i < nids; i++)
        if (run_dir_check_id(p->study.dir, ids[i], e) || (map_set(dst, ids[i], i) && mem_fail(e)))
            return -1;
    return 0;
}

/* Returns whether the newest attempt was made by resume, but not submitted. */
static bool was_refused(const struct run_status *s)
{
    return s->phase == RUN_PLANNED && s->attempt.number > 1;
}

/* The chosen runs, and what is looked up of each: its checkpoint and settings. */
struct again {
    const struct plan *plan;
    const struct submission_size *size;
    struct batch *batch;
};

static int look_up_again(void *arg, size_t i, struct err *e)
{
    const struct again *a = arg;
    struct batch_item *item = &a->batch->items[i];
    struct run run = item->run;
    struct study own;
    bool own_plan;
    int rc = run_settings_open(a->plan, run.id, &own, &own_plan, e);

    if (rc < 0)
        return -1;
    item->from = run_dir_checkpoint(a->plan->study.dir, run.id, item->attempt);
    run.study = &own;
    rc = rc > 0 ? 0 : run_settings_check(a->plan, &run, e);
    if (rc == 0 && a->size->gpus)
        rc = plan_resize_run(&a->plan->site, &run, a->size->gpus, a->size->scale, e);
    study_close(&own);
    run.study = item->run.study;
    item->run = run;
    return rc;
}

static int choose_ended(const struct workspace *w, const struct run_status *s, bool is_named,
                        struct batch *b, struct submission_counts *counts, struct err *e)
{
    bool is_unused = was_refused(s) && !s->attempt.begun;

    if (!run_status_is_foreign(w, s))
        return batch_add(b, &s->run, s->attempt.number + !is_unused, e);
    if (is_named)
        return err_set(e, ERR_USAGE, "%s is %s, and was submitted by %s, who can resume it; add "
                       "--take-over to do so yourself", s->run.id, state_name(s->state), s->user);
    leave_alone(s, counts);
    return 0;
}

/* Chooses the runs in named, or all if it is empty. */
static int choose_again(const struct workspace *w, const struct status_list *list,
                        const struct map *named, struct batch *b,
                        struct submission_counts *counts, struct err *e)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct run_status *s = &list->runs[i];

        if (named->count && !map_get(named, s->run.id, NULL))
            continue;
        if (*s->damage && named->count)
            return err_set(e, ERR_DATA, "cannot read the plan of %s: %s", s->run.id, s->damage);
        if (*s->damage) {
            log_warn("%s is left out: cannot read its plan: %s", s->run.id, s->damage);
            counts->bad += s->phase == RUN_BAD;
        } else if (s->phase == RUN_BAD || was_refused(s) ||
                   (named->count && s->phase == RUN_GOOD && *s->attempt.error)) {
            if (choose_ended(w, s, named->count > 0, b, counts, e))
                return -1;
        } else if (named->count) {
            return err_set(e, ERR_USAGE, "%s is %s%s%s; only runs that ended without a result can "
                           "be resumed", s->run.id, state_name(s->state), *s->reason ? ", " : "",
                           s->reason);
        } else if (s->phase == RUN_UNKNOWN) {
            leave_alone(s, counts);
        }
        counts->active += s->phase == RUN_ACTIVE;
        counts->good += s->phase == RUN_GOOD;
    }
    return 0;
}

int submission_check_cost(const struct plan *plan, bool by_count, double max_gpu_hours,
                          struct err *e)
{
    const struct run *largest = plan->runs;
    struct allocation a;

    if (!(max_gpu_hours > 0) || !plan->count)
        return 0;
    if (!plan->one_allocation)
        return run_cost_check(plan, by_count, max_gpu_hours, e);
    for (size_t i = 1; i < plan->count; i++)
        if (plan->runs[i].layout.gpus > largest->layout.gpus)
            largest = &plan->runs[i];
    return allocation_describe(plan, largest, &a, e) ||
                   run_cost_limit("the allocation",
                                  allocation_gpu_hours(&a, plan->options.time_min),
                                  plan->options.time_min, max_gpu_hours, "only", e)
               ? -1
               : 0;
}

static int check_batch_cost(const struct plan *p, const struct batch *b, double max_gpu_hours,
                            struct err *e)
{
    struct plan plan = *p;

    plan.runs = mem_zero(b->count + 1, sizeof *plan.runs, e);
    plan.count = b->count;

    for (size_t i = 0; plan.runs && i < b->count; i++)
        plan.runs[i] = b->items[i].run;
    int rc = plan.runs ? submission_check_cost(&plan, false, max_gpu_hours, e) : -1;
    plan_free_runs(&plan);
    return rc;
}

int submission_resume(struct workspace *w, char **ids, size_t nids,
                      const struct submission_size *size, struct submission_counts *counts,
                      struct err *e)
{
    struct status_list list = {0};
    struct map named = {0};
    struct batch b = {0};
    struct again again = {&w->plan, size, &b};
    int rc = -1;

    *counts = (struct submission_counts){0};
    if (check_ids(&w->plan, ids, nids, &named, e) || ledger_lock(&w->ledger, LEDGER_LOCK_S, e)) {
        map_destroy(&named);
        return -1;
    }
    if (settle(w, e) == 0 && status_list_collect(w, &list, e) == 0) {
        if (list.unreachable)
            *e = list.reason;
        else if (choose_again(w, &list, &named, &b, counts, e) == 0 &&
                 parallel_many(b.count, look_up_again, &again, e) == 0 &&
                 check_batch_cost(&w->plan, &b, size->max_gpu_hours, e) == 0)
            rc = submit_batch(w, &b, &list, counts, e);
    }
    status_list_destroy(&list);
    map_destroy(&named);
    batch_close(&b);
    ledger_unlock(&w->ledger);
    return rc;
}

static void add_option(struct buf *b, const char *option, const char *value)
{
    buf_addf(b, "%s%s%s%s", b->length ? " " : "", option, value ? " " : "", value ? value : "");
}

static void list_options(const struct plan_args *args, int nwords, char **words,
                         struct buf *dst)
{
    char number[32];

    for (size_t i = 0; i < args->set.count; i++)
        if (strncmp(args->set.values[i], "slurm.", 6) == 0)
            add_option(dst, "--set", args->set.values[i]);
    if (args->max_in_flight) {
        snprintf(number, sizeof number, "%ld", args->max_in_flight);
        add_option(dst, "--max-in-flight", number);
    }
    for (size_t i = 0; i < args->after.count; i++)
        add_option(dst, "--after", args->after.values[i]);
    if (args->templates)
        add_option(dst, "--templates", args->templates);
    if (args->one_allocation)
        add_option(dst, "--one-allocation", NULL);
    for (int i = 0; i < nwords; i++)
        add_option(dst, words[i], NULL);
}

void submission_warn_unreached(const struct plan_args *args, int nwords, char **words,
                               size_t nactive)
{
    struct buf options = {0};

    if (nactive)
        list_options(args, nwords, words, &options);
    if (options.length && !options.failed)
        log_warn("%zu run%s active and keep%s the options of %s own submission; this call's are "
                 "only for new jobs: %s ('unetctl cancel RUN' and 'unetctl resume RUN' with them "
                 "make a new job of one)", nactive, nactive == 1 ? " is" : "s are",
                 nactive == 1 ? "s" : "", nactive == 1 ? "its" : "their", options.data);
    buf_destroy(&options);
}

/* ---- printing instead ---- */

#define MAX_FILE ((size_t)4 << 20)
#define NO_ID "0000000000000000" /* stands for the study's id before scripts are first generated */

/* Prints the output of `diff -u` for the file at path and the new text. */
static int print_difference(const char *path, const char *text, const char *name, struct err *e)
{
    char was[RUN_ID_SIZE + 64], is[RUN_ID_SIZE + 64], fresh[48];
    const char *const words[] = {"diff", "-u", "--label", was, "--label", is, path, fresh, NULL};
    struct child c = {.argv = words};
    int fd = memfd_create("new", 0);
    size_t n = strlen(text);

    snprintf(was, sizeof was, "a/%s", name);
    snprintf(is, sizeof is, "b/%s", name);
    snprintf(fresh, sizeof fresh, "/proc/self/fd/%d", fd);
    fflush(stdout);
    pid_t pid = fd >= 0 && write(fd, text, n) == (ssize_t)n ? child_start(&c, e) : -1;
    int code = pid > 0 ? child_wait(pid) : 127;
    if (fd >= 0)
        close(fd);
    if (code <= 1)
        return 0;
    return err_set(e, ERR_INTERNAL, "cannot compare %s by diff -u", path);
}

/* Prints the file as it would be written, and its differences from the current one. */
static int show_file(const struct plan *p, const struct run *run, const char *file,
                     const char *text, struct err *e)
{
    char path[PATH_MAX], name[RUN_ID_SIZE + 48], *old = NULL;
    size_t n;

    path_format(path, "%s/runs/%s/%s", p->study.dir, run->id, file);
    if (access(path, F_OK) == 0 && !(old = atomicfile_read(path, MAX_FILE, &n, e)))
        return -1;
    bool is_changed = old && strcmp(old, text) != 0;
    snprintf(name, sizeof name, "runs/%s/%s", run->id, file);
    printf("==> %s (%s)\n%s", name, !old ? "new" : is_changed ? "changed" : "unchanged", text);
    free(old);
    if (!is_changed)
        return 0;
    printf("==> %s (diff)\n", name);
    return print_difference(path, text, name, e);
}

static int show_run_json(const struct plan *p, const struct run *run, struct err *e)
{
    char *text = run_json_encode(p->study_id, run, e);
    int rc = text ? show_file(p, run, "run.json", text, e) : -1;

    free(text);
    return rc;
}

static int show_run(const struct plan *p, const struct run *run, int attempt, struct err *e)
{
    char *run_text, *submit_text;
    struct attempt_job job;
    int rc;

    if (attempt_job(p, run, attempt, &job, e) ||
        script_render(p, run, attempt, &job.job, &run_text, &submit_text, NULL, e))
        return -1;
    rc = show_run_json(p, run, e) || show_file(p, run, "run_file.sh", run_text, e) ||
                 show_file(p, run, "submit_file.sh", submit_text, e)
             ? -1
             : 0;
    free(run_text);
    free(submit_text);
    return rc;
}

static int show_allocation(const struct plan *plan, struct err *e)
{
    struct batch b = {0};
    struct run_attempt newest;
    struct allocation a;
    char *text = NULL;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < plan->count; i++) {
        rc = run_dir_attempt(plan->study.dir, plan->runs[i].id, &newest, e);
        if (rc == 0 && !newest.begun)
            rc = batch_add(&b, &plan->runs[i], newest.number ? newest.number : 1, e);
    }
    if (rc == 0 && b.count)
        rc = allocation_describe(plan, &b.items[b.count - 1].run, &a, e);
    if (rc == 0 && b.count && !(text = allocation_render(plan, &a, b.items, b.count, e)))
        rc = -1;
    if (text)
        printf("==> .unetctl/%s/submit_file.sh (new)\n%s", a.name, text);
    free(text);
    batch_close(&b);
    return rc;
}

int dry_run_print(const struct plan *plan, struct err *e)
{
    struct plan own = *plan;
    size_t begun = 0;

    if (!*own.study_id) {
        log_info("the study has no id yet; it is shown as " NO_ID);
        own.study_id = NO_ID;
    }
    for (size_t i = 0; i < plan->count; i++) {
        const struct run *run = &plan->runs[i];
        struct run_attempt newest;
        if (run_dir_attempt(own.study.dir, run->id, &newest, e))
            return -1;
        if (newest.begun) {
            begun++;
            printf("==> runs/%s has begun (attempt %d) and stays unchanged\n", run->id,
                   newest.number);
        } else if (show_run(&own, run, newest.number ? newest.number : 1, e)) {
            return -1;
        }
    }
    if (own.one_allocation && show_allocation(&own, e))
        return -1;
    log_info("%zu run%s, of which %zu have begun; nothing was written or submitted", plan->count,
             plural(plan->count), begun);
    return 0;
}
