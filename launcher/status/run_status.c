/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/status/run_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/clock.h"


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
           !has_stopped && job->ended && clock_age(job->ended) < awaited_max_s();
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

bool run_status_may_be_ending(const struct run_status *s)
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
    if (s->attempt.marker != RUN_NO_MARKER && run_status_may_be_ending(s) && job &&
        job->phase == PHASE_RUNNING)
        set_state(s, STATE_COMPLETING);
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
