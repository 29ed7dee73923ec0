/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/status/status.h"

#include <math.h>

#include "launcher/host/path.h"
#include "launcher/status/status_internal.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/parallel.h"

/* ---- jobs of many runs ---- */

#define MAX_LIST ((size_t)1 << 22)

static bool is_cancelled(const char *attempt)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof path, "%s/.cancel", attempt);
    return access(path, F_OK) == 0;
}

void status_set_run_state(struct job_state *s, const struct run_attempt *a)
{
    if (a->marker != RUN_NO_MARKER || s->phase == PHASE_RUNNING)
        s->started = s->ended = 0; /* of all runs together; recall_job has the run's own */
    if (a->marker != RUN_NO_MARKER) {
        job_state_set(s, a->marker == RUN_DONE ? STATE_COMPLETED : STATE_FAILED);
        s->exit_code = a->exit_code;
    } else if (is_cancelled(a->path) && (!a->ran || a->stopped)) {
        job_state_set(s, STATE_CANCELLED);
    } else if (!a->ran && s->phase == PHASE_RUNNING) {
        job_state_set(s, STATE_PENDING);
        snprintf(s->reason, sizeof s->reason, "waits for its turn in job %s", s->id);
    } else if (!a->ran && s->phase == PHASE_ENDED && s->state != STATE_CANCELLED) {
        snprintf(s->reason, sizeof s->reason, "job %s ended (%s) before its turn", s->id,
                 state_name(s->state));
        job_state_set(s, STATE_SKIPPED);
        s->exit_code = 0;
    }
}

/* Makes *dst the job of the run and attempt in line, "RUN ATTEMPT". */
static int add_run(const struct plan *p, const struct job_state *job, const char *line,
                   struct job_state *dst, struct err *e)
{
    struct run_attempt newest;
    char run[RUN_ID_SIZE];
    int attempt;

    if (sscanf(line, "%63s %d", run, &attempt) != 2)
        return err_set(e, ERR_DATA, "the list is damaged");
    *dst = *job;
    ledger_tag(p->study_id, run, attempt, dst->tag);
    if (run_dir_attempt(p->study.dir, run, &newest, e))
        return -1;
    if (newest.number == attempt)
        status_set_run_state(dst, &newest);
    return 0;
}

struct list {
    struct job_state *jobs;
    size_t count, capacity;
};

static int add_runs(const struct workspace *w, const struct job_state *job, const char *name,
                    struct list *dst, struct err *e)
{
    char path[PATH_MAX + 16], *text, *save = NULL;
    int rc = 0;
    size_t n;

    snprintf(path, sizeof path, "%s/%.*s/runs", w->ledger.dir, (int)strcspn(name, ":"), name);
    text = atomicfile_read(path, MAX_LIST, &n, e);
    if (!text) {
        log_warn("cannot read the list of runs in job %s: %s", job->id, e->text);
        return 0;
    }
    for (char *line = strtok_r(text, "\n", &save); rc == 0 && line;
         line = strtok_r(NULL, "\n", &save)) {
        rc = mem_grow(&dst->jobs, dst->count, &dst->capacity, sizeof *dst->jobs, e) ||
                     add_run(&w->plan, job, line, &dst->jobs[dst->count], e)
                 ? -1
                 : 0;
        dst->count += rc == 0;
    }
    free(text);
    return rc ? err_prefix(e, "%s", path) : 0;
}

/* Returns "allocation-K:1", the end of the tag of an allocation's job (one job for many runs), or
 * NULL for another job. */
static const char *name_of(const struct plan *p, const struct job_state *job)
{
    char prefix[256];

    ledger_tag(p->study_id, NULL, 0, prefix);
    const char *name = job->tag + strlen(prefix);
    return text_begins(job->tag, prefix) && text_begins(name, ALLOCATION_JOBS_PREFIX) ? name : NULL;
}

/* Replaces the job of each allocation by one job for each of its runs, in the state of that run:
 * as its marker DONE or FAILED says, PENDING if it waits for its turn, SKIPPED if it had no turn
 * before the job ended, CANCELLED if it was cancelled alone, otherwise as the job. An allocation
 * whose list of runs cannot be read is left out, with a warning; and so are the jobs of users who
 * have submitted nothing in this study, as anybody can give a job any comment. Returns 0, or -1 and
 * leaves *jobs unchanged. */
static int expand_allocations(const struct workspace *w, struct job_state **jobs, size_t *njobs,
                              struct err *e)
{
    struct list list = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < *njobs; i++) {
        const struct job_state *job = &(*jobs)[i];
        const char *name = name_of(&w->plan, job);
        if (!ledger_may_be_of(&w->ledger, job->uid))
            continue;
        if (name)
            rc = add_runs(w, job, name, &list, e);
        else if ((rc = mem_grow(&list.jobs, list.count, &list.capacity, sizeof *list.jobs, e)) == 0)
            list.jobs[list.count++] = *job;
    }
    if (rc) {
        free(list.jobs);
        return -1;
    }
    free(*jobs);
    *jobs = list.jobs;
    *njobs = list.count;
    return 0;
}

int allocation_jobs_cancel(const struct plan *p, const char *run, int attempt, struct err *e)
{
    char path[PATH_MAX];

    path_format(path, "%s/runs/%s/attempt-%d/.cancel", p->study.dir, run, attempt);
    return atomicfile_write(path, "", 0, 0666, e);
}

/* ---- the jobs of a study ---- */

static int by_tag(const void *a, const void *b)
{
    const struct job_state *x = a, *y = b;
    int order = strcmp(x->tag, y->tag);

    return order ? order : job_id_compare(x->id, y->id);
}

/* Stores the jobs of the study that the scheduler of this kind lists, sorted by tag, then by id. If
 * other users have submitted runs of this study, theirs are included. Returns 0, or -1 and nothing
 * to free. */
static int query_jobs(struct workspace *w, const char *kind, struct job_state **jobs, size_t *njobs,
                      struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, kind, e);
    char prefix[256];

    *jobs = NULL;
    *njobs = 0;
    ledger_tag(w->plan.study_id, NULL, 0, prefix);
    if (!scheduler ||
        scheduler_query(scheduler, prefix, ledger_has_others(&w->ledger), jobs, njobs, e))
        return -1;
    if (expand_allocations(w, jobs, njobs, e)) {
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

const struct job_state *status_find_job(const struct plan *p, const char *run, int attempt,
                                        const char *id, const struct job_state *jobs, size_t njobs)
{
    const struct job_state *best = NULL;
    char tag[256];

    ledger_tag(p->study_id, run, attempt, tag);
    for (size_t i = find_tag(jobs, njobs, tag); i < njobs && strcmp(jobs[i].tag, tag) == 0; i++) {
        if (id && strcmp(jobs[i].id, id) == 0)
            return &jobs[i];
        if (!best || best->phase == PHASE_ENDED || jobs[i].phase != PHASE_ENDED)
            best = &jobs[i];
    }
    return best;
}

/* ---- the state of a run ---- */

/* how long after its marker (DONE or FAILED) a run's job may still be ending, in seconds */
#define ENDING_MAX_S 60
/* how long after the end of a job its marker may still be invisible here, in seconds;
 * UNETCTL_MARKER_S replaces it in tests */
#define AWAITED_MAX_S 60

bool run_status_is_others(const struct run_status *s)
{
    return s->uid >= 0 && s->uid != (long)getuid();
}

bool run_status_is_foreign(const struct workspace *w, const struct run_status *s)
{
    return run_status_is_others(s) && !w->take_over;
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
    else if (job->exit_code == JOB_EXIT_FULL)
        run_status_set(s, job->state, "it could not write into its folder: is the disk, or your "
                       "quota, full? 'unetctl resume' tries again");
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
    bool is_said = waits || (job->state == STATE_UNKNOWN && *job->reason);
    run_status_set(s, job->state, "%s%s", restarts, is_said ? job->reason : words);
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

    return workspace_is_slurm(s->scheduler) && job->state != STATE_CANCELLED &&
           !has_stopped && job->ended && clock_age(job->ended) < awaited_max_s();
}

static void decide_without_job(struct run_status *s, const struct ledger_entry *entry)
{
    s->absent = s->attempt.ran ||
                (entry && (entry->last == LEDGER_SUBMITTED || entry->last == LEDGER_CANCELLED));
    if (entry && entry->last == LEDGER_CANCELLED)
        decide_ended(s, &(const struct job_state){.state = STATE_CANCELLED});
    else if (s->absent)
        run_status_set(s, STATE_LOST, s->attempt.stopped
                       ? "it was stopped with a checkpoint, and the scheduler no longer knows it"
                       : "it was submitted, and the scheduler no longer knows it");
    else if (entry && entry->last == LEDGER_SUBMITTING)
        run_status_set(s, STATE_PLANNED, "its submission was interrupted");
    else if (entry && entry->last == LEDGER_REFUSED)
        run_status_set(s, STATE_PLANNED, "the scheduler refused it, or one before it");
    else
        set_state(s, STATE_PLANNED);
}

/* Returns whether the marker was written so recently that the run's job may still be ending. Rank 0
 * writes it while the job runs; for a minute the run counts as finished only when its job is. */
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
    else if (s->attempt.marker == RUN_DONE && *s->attempt.error)
        run_status_set(s, STATE_COMPLETED, "its log is unread: %.250s ('unetctl collect' reads it "
                       "again when log in study.yaml is corrected, 'unetctl resume %s' runs it "
                       "again)",
                       s->attempt.error, s->run.id);
    else if (s->attempt.marker == RUN_DONE)
        set_state(s, STATE_COMPLETED);
    else if (s->attempt.marker == RUN_FAILED)
        decide_failed(s, job, entry);
    else if (job && job->phase == PHASE_ENDED && awaits_marker(s, job))
        run_status_set(s, STATE_ENDED, "marker awaited: the job ended %.0f s ago (%s), and DONE or "
                       "FAILED may become visible for %.0f s", clock_age(job->ended),
                       state_name(job->state), awaited_max_s());
    else if (job && job->phase == PHASE_ENDED)
        decide_ended(s, job);
    else if (job)
        set_active(s, job);
    else
        decide_without_job(s, entry);
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

/* Sets what an ended run has kept of its job, which the scheduler may not list any more: its nodes,
 * and when its last start began and ended; of one that runs in an allocation, when it began. */
static void recall_job(struct run_status *s)
{
    char path[PATH_MAX + 16];
    struct clock_span *starts = NULL;
    size_t n = 0, capacity = 0;
    struct err ignored;

    bool has_ended = s->phase == RUN_GOOD || s->phase == RUN_BAD;

    if (s->ended || (!has_ended && (s->started || s->state != STATE_RUNNING)))
        return;
    snprintf(path, sizeof path, "%s/nodes", s->attempt.path);
    if (!*s->nodes)
        path_read_line(path, s->nodes, sizeof s->nodes);
    if (run_dir_starts(s->attempt.path, &starts, &n, &capacity, &ignored) == 0 && n) {
        s->started = (time_t)starts[n - 1].begin;
        s->ended = has_ended && !isnan(starts[n - 1].end) ? (time_t)starts[n - 1].end : 0;
    }
    free(starts);
}

/* ---- the runs of a study ---- */

/* A scheduler's answer; it is queried when the first run needs it. */
struct scheduler_answer {
    bool asked, failed;
    struct job_state *jobs;
    size_t njobs;
};

/* What is needed to decide runs. */
struct survey {
    struct workspace *w;
    const struct plan *plan; /* its runs are decided; NULL: those of ids */
    char **ids;
    struct status_list *list;
    struct scheduler_answer answers[WORKSPACE_NKINDS];
};

static const struct scheduler_answer *query_scheduler(struct survey *v, const char *kind)
{
    struct scheduler_answer *a = &v->answers[WORKSPACE_DRY];

    for (int i = 0; i < WORKSPACE_NKINDS; i++)
        a = strcmp(kind, plan_schedulers[i]) == 0 ? &v->answers[i] : a;
    if (!a->asked) {
        a->asked = true;
        a->failed = query_jobs(v->w, kind, &a->jobs, &a->njobs, &v->list->reason) != 0;
    }
    return a;
}

static int read_planned(void *arg, size_t i, struct err *e)
{
    const struct survey *v = arg;
    struct run_status *s = &v->list->runs[i];

    s->run = v->plan->runs[i];
    s->layout = s->run.layout;
    return run_dir_attempt(v->w->plan.study.dir, s->run.id, &s->attempt, e);
}

static void set_damage(struct run_status *s, const struct err *damage)
{
    snprintf(s->damage, sizeof s->damage, "%.*s", (int)sizeof s->damage - 1, damage->text);
}

static int read_run(void *arg, size_t i, struct err *e)
{
    const struct survey *v = arg;
    const char *dir = v->w->plan.study.dir, *id = v->ids[i];
    struct run_status *s = &v->list->runs[i];
    struct err damage;

    if (run_dir_attempt(dir, id, &s->attempt, e))
        return -1;
    if (run_dir_read(dir, id, &s->run, NULL, &damage)) {
        set_damage(s, &damage);
        s->run = (struct run){0};
        snprintf(s->run.id, sizeof s->run.id, "%s", id);
    } else {
        s->layout = s->run.layout;
        if (run_dir_layout(dir, id, s->attempt.number, &s->layout, &damage) < 0)
            set_damage(s, &damage);
    }
    s->run.study = &v->w->plan.study;
    run_dir_progress(&s->attempt, &s->progress);
    return 0;
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

/* Leaves out the runs that ended without a result on a number of GPUs that is known not to run. */
static void drop_refused(struct status_list *list)
{
    size_t n = list->count;

    list->count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct run_status *s = &list->runs[i];
        if (s->phase != RUN_BAD || *s->damage || !plan_refusal(s->run.study, s->layout.gpus))
            list->runs[list->count++] = *s;
    }
}

/* Returns whether the state of the run may depend on a job. A done run of a plan is looked up where
 * new jobs go, since the ledger may lack its job. */
static bool needs_job(const struct survey *v, const struct run_status *s)
{
    return s->attempt.marker != RUN_DONE || may_be_ending(s) ||
           (v->plan && strcmp(s->scheduler, workspace_kind(v->w)) == 0);
}

/* Decides one run. The marker is read again after ledger (the log of submissions) and scheduler,
 * so that the result of a job that ended in between is seen. */
static int decide_run(struct survey *v, struct run_status *s, struct err *e)
{
    const struct plan *p = &v->w->plan;
    const struct ledger_entry *entry = ledger_find(&v->w->ledger, s->run.id, s->attempt.number);
    const struct job_state *job = NULL;
    const struct scheduler_answer *a = NULL;
    /* without an attempt's folder, the ledger has its number; a run that has neither may still
     * have a job, if its folder and the ledger were removed */
    int number = s->attempt.number ? s->attempt.number : entry ? entry->attempt : v->plan ? 1 : 0;

    snprintf(s->scheduler, sizeof s->scheduler, "%s",
             entry ? entry->scheduler : workspace_kind(v->w));
    if (number && *p->study_id && needs_job(v, s)) {
        a = query_scheduler(v, s->scheduler);
        if (s->attempt.marker == RUN_NO_MARKER) {
            if (run_dir_attempt(p->study.dir, s->run.id, &s->attempt, e))
                return -1;
            if (!v->plan)
                run_dir_progress(&s->attempt, &s->progress);
        }
        number = s->attempt.number ? s->attempt.number : number;
        job = status_find_job(p, s->run.id, number, s->attempt.job, a->jobs, a->njobs);
    }
    s->attempt.number = number;
    run_status_decide(s, job, entry);
    recall_job(s);
    if (a && a->failed && s->attempt.marker == RUN_NO_MARKER && (entry || s->attempt.begun)) {
        run_status_set(s, STATE_UNKNOWN, "the scheduler is unreachable");
        v->list->unreachable = true;
    }
    return 0;
}

/* Fills the list, which has room for count runs. */
static int decide_all(struct survey *v, size_t count, struct err *e)
{
    struct status_list *list = v->list;
    int rc = parallel_many(count, v->plan ? read_planned : read_run, v, e);

    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = decide_run(v, &list->runs[i], e);
    list->count = count;
    if (rc == 0 && !list->unreachable && (rc = absent_resolve(v->w, list->runs, count, e)) > 0) {
        list->unreachable = true;
        list->reason = *e;
        rc = 0;
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        decide_damaged(&list->runs[i]);
        list->ndamaged += *list->runs[i].damage != 0;
    }
    if (rc == 0 && !v->plan)
        drop_refused(list);
    return rc;
}

/* Decides the runs, keeps the jobs of the scheduler that new jobs go to, and frees the rest. */
static int survey_runs(struct survey *v, size_t count, struct err *e)
{
    int rc = -1;

    v->list->runs = mem_zero(count, sizeof *v->list->runs, e);
    if (v->list->runs)
        rc = decide_all(v, count, e);
    for (int i = 0; i < WORKSPACE_NKINDS; i++) {
        const struct scheduler_answer *a = &v->answers[i];
        if (strcmp(plan_schedulers[i], workspace_kind(v->w)) == 0) {
            v->list->jobs = a->jobs;
            v->list->njobs = a->njobs;
        } else {
            free(a->jobs);
        }
    }
    if (rc)
        status_list_destroy(v->list);
    return rc;
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

int status_list_collect(struct workspace *w, struct status_list *dst, struct err *e)
{
    struct setting_lines ids;
    struct survey v = {.w = w, .list = dst};

    *dst = (struct status_list){0};
    if (ledger_reload(&w->ledger, e) || list_runs(w, &ids, e))
        return -1;
    v.ids = ids.lines;
    int rc = survey_runs(&v, ids.count, e);
    setting_clear_lines(&ids);
    return rc;
}

int status_list_decide(struct workspace *w, const struct plan *plan, struct status_list *dst,
                       struct err *e)
{
    struct survey v = {.w = w, .plan = plan, .list = dst};

    *dst = (struct status_list){0};
    if (query_scheduler(&v, workspace_kind(w))->failed) {
        *e = dst->reason;
        return -1;
    }
    return survey_runs(&v, plan->count, e);
}

const struct job_state *status_list_jobs(const struct status_list *list, const char *tag,
                                         size_t *n)
{
    size_t i = find_tag(list->jobs, list->njobs, tag);

    for (*n = 0; i + *n < list->njobs && strcmp(list->jobs[i + *n].tag, tag) == 0;)
        ++*n;
    return *n ? &list->jobs[i] : NULL;
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
    free(list->jobs);
    *list = (struct status_list){0};
}
