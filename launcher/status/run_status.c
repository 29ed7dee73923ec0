/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/status/run_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/status/absent.h"
#include "launcher/status/allocation_jobs.h"
#include "src/mem.h"
#include "src/parallel.h"
#include "src/plural.h"

/* how long after its marker (DONE or FAILED) a run's job may still be ending, in seconds */
#define ENDING_MAX_S 60
/* how long after the end of a job its marker may still be invisible here, in seconds;
 * UNETCTL_MARKER_S replaces it in tests */
#define AWAITED_MAX_S 60
#define READERS 8
#define RUNS_PER_READER 64

bool run_status_is_others(const struct run_status *s)
{
    return s->uid >= 0 && s->uid != (long)getuid();
}

bool run_status_is_foreign(const struct workspace *w, const struct run_status *s)
{
    return run_status_is_others(s) && !w->take_over;
}

void run_status_add(struct run_status *s, const char *words)
{
    size_t n = strlen(s->reason);

    snprintf(s->reason + n, sizeof s->reason - n, "%s", words);
}

void run_status_set(struct run_status *s, enum state state, const char *fmt, ...)
{
    char reason[sizeof s->reason];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    s->state = state;
    s->phase = state_run_phase(state);
    if (run_status_is_others(s) && s->phase != RUN_PLANNED)
        snprintf(s->reason, sizeof s->reason, "submitted by %s%s%.400s", s->user,
                 *reason ? "; " : "", reason);
    else
        memcpy(s->reason, reason, sizeof reason);
}

static void set_state(struct run_status *s, enum state state)
{
    run_status_set(s, state, "%s", "");
}

/* Sets state and reason of a run that failed. FAILED says what the trainer saw; how Slurm ended
 * the job says why. */
static void decide_failed(struct run_status *s, const struct job_state *job,
                          const struct ledger_entry *entry)
{
    bool is_cancelled = entry && entry->last == LEDGER_CANCELLED;
    enum state state = is_cancelled ? STATE_CANCELLED : STATE_FAILED;
    char words[256];

    if (job && job->phase == PHASE_ENDED && job->state != STATE_COMPLETED)
        state = job->state;
    state_explain(state, words, sizeof words);
    run_status_set(s, state, "%.300s%s%.180s", s->attempt.error, *words ? ": " : "", words);
    s->exit_code = s->attempt.exit_code;
}

static void decide_ended(struct run_status *s, const struct job_state *job)
{
    char words[256];

    s->exit_code = job->exit_code;
    state_explain(job->state, words, sizeof words);
    if (job->state == STATE_COMPLETED)
        run_status_set(s, STATE_FAILED, "the job ended without writing DONE or FAILED");
    else if (job->exit_code == JOB_EXIT_AGAIN)
        run_status_set(s, job->state, "stopped with a checkpoint; 'unetctl resume' continues");
    else if (*job->reason || *words)
        run_status_set(s, job->state, "%s", *job->reason ? job->reason : words);
    else if (job->state == STATE_FAILED && job->signal)
        run_status_set(s, STATE_FAILED, "signal %d", job->signal);
    else if (job->state == STATE_FAILED)
        run_status_set(s, STATE_FAILED, "exit code %d", job->exit_code);
    else
        set_state(s, job->state);
}

static void set_active(struct run_status *s, const struct job_state *job)
{
    char restarts[32] = "", words[256];
    bool waits = job->phase == PHASE_PENDING;

    s->held = job->held;
    state_explain(job->state, words, sizeof words);
    if (job->restarts)
        snprintf(restarts, sizeof restarts, "restart %d%s", job->restarts, waits ? ", " : "");
    run_status_set(s, job->state, "%s%s", restarts, waits ? job->reason : words);
}

static double awaited_max_s(void)
{
    const char *text = getenv("UNETCTL_MARKER_S");

    return text && *text ? atof(text) : AWAITED_MAX_S;
}

/* Returns whether a marker of this ended job may still become visible. A file "stopped" that agrees
 * with the exit code says that there is none. */
static bool awaits_marker(const struct run_status *s, const struct job_state *job)
{
    bool has_stopped = s->attempt.stopped && job->exit_code == JOB_EXIT_AGAIN;

    return strcmp(s->scheduler, "slurm") == 0 && job->state != STATE_CANCELLED &&
           !has_stopped && job->ended && difftime(time(NULL), job->ended) < awaited_max_s();
}

static void decide_without_job(struct run_status *s, const struct ledger_entry *entry)
{
    s->absent = s->attempt.ran ||
                (entry && (entry->last == LEDGER_SUBMITTED || entry->last == LEDGER_CANCELLED));
    if (entry && entry->last == LEDGER_CANCELLED)
        set_state(s, STATE_CANCELLED);
    else if (s->absent)
        run_status_set(s, STATE_LOST, s->attempt.stopped
                       ? "it was stopped with a checkpoint, and the scheduler no longer knows it"
                       : "it was submitted, and the scheduler no longer knows it");
    else if (entry && entry->last == LEDGER_SUBMITTING)
        run_status_set(s, STATE_PLANNED, "its submission was interrupted");
    else if (entry && entry->last == LEDGER_REFUSED)
        run_status_set(s, STATE_PLANNED, "the scheduler refused it");
    else
        set_state(s, STATE_PLANNED);
}

/* Returns whether the marker was written so recently that the run's job may still be ending. Rank 0
 * writes it while the job runs; until ENDING_MAX_S later the run counts as finished only when its
 * job is. */
static bool may_be_ending(const struct run_status *s)
{
    return s->attempt.marker_age_s < ENDING_MAX_S;
}

/* Sets who submitted the run, according to the job, or else the ledger. What was refused has no
 * submitter. */
static void set_submitter(struct run_status *s, const struct job_state *job,
                          const struct ledger_entry *entry)
{
    bool is_refused = entry && entry->last == LEDGER_REFUSED;

    s->uid = job && job->uid >= 0 ? job->uid : entry && !is_refused ? entry->uid : -1;
    snprintf(s->user, sizeof s->user, "%s", s->uid < 0        ? ""
                                            : job && *job->user ? job->user
                                            : entry             ? entry->user
                                                                : "");
    if (s->uid >= 0 && !*s->user)
        snprintf(s->user, sizeof s->user, "user %ld", s->uid);
}

void run_status_decide(struct run_status *s, const struct job_state *job,
                       const struct ledger_entry *entry)
{
    s->absent = false;
    s->held = false;
    set_submitter(s, job, entry);
    snprintf(s->job, sizeof s->job, "%s", job ? job->id : entry ? entry->job : "");
    if (job) {
        snprintf(s->nodes, sizeof s->nodes, "%s", job->nodes);
        s->started = job->started;
        s->ended = job->ended;
    }
    s->exit_code = 0;
    if (s->attempt.marker != RUN_NO_MARKER && may_be_ending(s) && job &&
        job->phase == PHASE_RUNNING)
        set_state(s, STATE_COMPLETING);
    else if (s->attempt.marker == RUN_DONE)
        set_state(s, STATE_COMPLETED);
    else if (s->attempt.marker == RUN_FAILED)
        decide_failed(s, job, entry);
    else if (job && job->phase == PHASE_ENDED && awaits_marker(s, job))
        run_status_set(s, STATE_ENDED, "marker awaited: the job ended %.0f s ago (%s), and DONE or "
                       "FAILED may become visible for %.0f s", difftime(time(NULL), job->ended),
                       state_name(job->state), awaited_max_s());
    else if (job && job->phase == PHASE_ENDED)
        decide_ended(s, job);
    else if (job)
        set_active(s, job);
    else
        decide_without_job(s, entry);
}

static int by_tag(const void *a, const void *b)
{
    const struct job_state *x = a, *y = b;
    int order = strcmp(x->tag, y->tag);
    unsigned long id_x = strtoul(x->id, NULL, 10), id_y = strtoul(y->id, NULL, 10);

    return order ? order : (id_x > id_y) - (id_x < id_y);
}

/* Removes the jobs of users who have submitted nothing in this study: anybody can give a job any
 * comment. */
static void drop_strangers(const struct ledger *l, struct job_state *jobs, size_t *njobs)
{
    size_t n = 0;

    for (size_t i = 0; i < *njobs; i++)
        if (ledger_may_be_of(l, jobs[i].uid))
            jobs[n++] = jobs[i];
    *njobs = n;
}

int run_status_query(struct workspace *w, const char *kind, struct job_state **jobs, size_t *njobs,
                     struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, kind, e);
    char prefix[256];

    *jobs = NULL;
    *njobs = 0;
    ledger_tag(&w->ledger, NULL, 0, prefix);
    if (!scheduler ||
        scheduler_query(scheduler, prefix, ledger_has_others(&w->ledger), jobs, njobs, e))
        return -1;
    drop_strangers(&w->ledger, *jobs, njobs);
    if (allocation_jobs_expand(w, jobs, njobs, e)) {
        free(*jobs);
        *jobs = NULL;
        *njobs = 0;
        return -1;
    }
    if (*njobs > 1)
        qsort(*jobs, *njobs, sizeof **jobs, by_tag);
    return 0;
}

/* Returns the index of the first of the jobs, which are sorted by tag, whose tag is not before
 * `tag`. A tag is the comment that identifies the job of an attempt. */
static size_t find_tag(const struct job_state *jobs, size_t njobs, const char *tag)
{
    size_t low = 0, high = njobs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(jobs[middle].tag, tag) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct job_state *run_status_find_job(const struct workspace *w, const char *run, int attempt,
                                            const char *id, const struct job_state *jobs,
                                            size_t njobs)
{
    const struct job_state *best = NULL;
    char tag[256];

    ledger_tag(&w->ledger, run, attempt, tag);
    for (size_t i = find_tag(jobs, njobs, tag); i < njobs && strcmp(jobs[i].tag, tag) == 0; i++) {
        if (id && strcmp(jobs[i].id, id) == 0)
            return &jobs[i];
        if (!best || best->phase == PHASE_ENDED || jobs[i].phase != PHASE_ENDED)
            best = &jobs[i];
    }
    return best;
}

/* ---- reading: several threads, as thousands of files wait for the file system */

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
    struct reading r = {study_dir, ids, runs};
    size_t nthreads = 1 + count / RUNS_PER_READER;

    return parallel_each(count, nthreads < READERS ? (int)nthreads : READERS, read_one, &r, e);
}

/* ---- deciding */

/* A scheduler's answer; it is queried when the first run needs it. */
struct scheduler_answer {
    bool asked, failed;
    struct job_state *jobs;
    size_t njobs;
};

static const struct scheduler_answer *query_scheduler(struct workspace *w,
                                                      struct run_status_list *list,
                                                      struct scheduler_answer *answers,
                                                      const char *kind)
{
    int i = strcmp(kind, "slurm") == 0 ? WORKSPACE_SLURM
            : strcmp(kind, "local") == 0 ? WORKSPACE_LOCAL : WORKSPACE_DRY;
    struct scheduler_answer *a = &answers[i];

    if (!a->asked) {
        a->asked = true;
        a->failed = run_status_query(w, kind, &a->jobs, &a->njobs, &list->reason) != 0;
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
static int decide_run(struct workspace *w, struct run_status_list *list,
                      struct scheduler_answer *answers, struct run_status *s, struct err *e)
{
    const char *id = s->run.id;
    const struct ledger_entry *entry = ledger_find(&w->ledger, id, s->attempt.number);
    const struct job_state *job = NULL;
    const struct scheduler_answer *a = NULL;

    /* without an attempt's folder, the ledger has its number */
    int number = s->attempt.number || !entry ? s->attempt.number : entry->attempt;

    snprintf(s->scheduler, sizeof s->scheduler, "%s", entry ? entry->scheduler : w->scheduler);
    if (number && *w->ledger.study_id && (s->attempt.marker != RUN_DONE || may_be_ending(s))) {
        a = query_scheduler(w, list, answers, s->scheduler);
        if (s->attempt.marker == RUN_NO_MARKER) {
            if (run_dir_attempt(w->study.dir, id, &s->attempt, e))
                return -1;
            run_dir_progress(&s->attempt, &s->progress);
        }
        number = s->attempt.number ? s->attempt.number : number;
        job = run_status_find_job(w, id, number, s->attempt.job, a->jobs, a->njobs);
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
    int rc = run_dir_list(w->study.dir, ids, e);
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

int run_status_collect(struct workspace *w, struct run_status_list *dst, struct err *e)
{
    struct scheduler_answer answers[WORKSPACE_NKINDS] = {{0}};
    struct setting_lines ids;
    int rc;

    *dst = (struct run_status_list){0};
    if (ledger_reload(&w->ledger, e) || list_runs(w, &ids, e))
        return -1;
    size_t count = ids.count;
    dst->runs = mem_zero(count, sizeof *dst->runs, e);
    rc = dst->runs ? read_attempts(w->study.dir, ids.lines, dst->runs, count, e) : -1;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = decide_run(w, dst, answers, &dst->runs[i], e);
    dst->count = count;
    if (rc == 0 && !dst->unreachable)
        rc = absent_resolve(w, dst, e);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        decide_damaged(&dst->runs[i]);
        dst->ndamaged += *dst->runs[i].damage != 0;
    }
    for (int i = 0; i < WORKSPACE_NKINDS; i++)
        free(answers[i].jobs);
    setting_clear_lines(&ids);
    if (rc)
        run_status_destroy(dst);
    return rc;
}

int run_status_check_damage(const struct run_status_list *list, struct err *e)
{
    const struct run_status *s = list->runs;

    if (!list->ndamaged)
        return 0;
    while (!*s->damage)
        s++;
    return err_set(e, ERR_DATA, "cannot read the plan of %zu run%s, such as %s: %s; if the "
                   "file is damaged, restore it from a copy, or remove the folder of the run: "
                   "'unetctl submit' writes it again, and 'unetctl resume' trains again", list->ndamaged,
                   plural(list->ndamaged), s->run.id, s->damage);
}

static int compare_run(const void *id, const void *status)
{
    return strverscmp(id, ((const struct run_status *)status)->run.id);
}

const struct run_status *run_status_find(const struct run_status_list *list, const char *run)
{
    return list->count ? bsearch(run, list->runs, list->count, sizeof *list->runs, compare_run)
           : NULL;
}

void run_status_destroy(struct run_status_list *list)
{
    free(list->runs);
    *list = (struct run_status_list){0};
}

json_t *run_status_encode(const struct run_status *s)
{
    static const char *const phases[] = {"planned", "active", "done", "failed", "unknown"};
    const struct layout *l = &s->layout;
    json_t *quality = s->progress.quality >= 0 ? json_real(s->progress.quality) : json_null();
    bool classes = s->progress.metric && strcmp(s->progress.metric, "accuracy") == 0;

    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:i, s:i,"
                     " s:f, s:o, s:i, s:s}",
                     "run", s->run.id, "state", state_name(s->state), "phase", phases[s->phase],
                     "reason", s->reason, "attempt", s->attempt.number, "job", s->job, "scheduler",
                     s->scheduler, "nodelist", s->nodes, "gpus", l->gpus, "nodes", l->nodes,
                     "tasks", l->tasks, "seed", s->run.seed, "strategy",
                     layout_strategy_encode(l->strategy),
                     "epoch", s->progress.epoch, "epochs", s->progress.epochs, "loss",
                     s->progress.loss, classes ? "accuracy" : "iou", quality, "exit_code",
                     s->exit_code, "user", s->user);
}
