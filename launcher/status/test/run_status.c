/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the state of a run for typical combinations of marker, job and ledger entry, and the
 * reasons that are shown. */
#include "src/base.h"
#include "launcher/status/status_internal.h"

#include <time.h>

#include "t/tap.h"

#define NO_JOB (-1)
#define NO_ENTRY (-1)

static void check(const char *what, enum run_marker marker, bool ran, int job_phase,
                  enum state job_state, int event, enum run_phase phase, enum state state)
{
    struct run_status s = {.attempt = {.number = 1, .ran = ran, .marker = marker,
                                       .exit_code = 5, .error = "peer lost"}};
    struct job_state job = {.id = "7", .phase = (enum job_phase)job_phase, .exit_code = 1,
                            .uid = -1};
    struct ledger_entry entry = {.attempt = 1, .last = (enum ledger_event)event, .job = "7",
                                 .uid = -1};

    job.state = job_state;
    run_status_decide(&s, job_phase == NO_JOB ? NULL : &job, event == NO_ENTRY ? NULL : &entry);
    is_str(state_name(s.state), state_name(state), "%s: state", what);
    is_int(s.phase, phase, "%s: phase", what);
}

static void check_reason(const char *what, struct job_state job, const char *reason)
{
    struct run_status s = {.scheduler = "local", .attempt = {.number = 1, .begun = true}};

    job.uid = -1;
    job_state_set(&job, job.state);
    run_status_decide(&s, &job, NULL);
    is_str(s.reason, reason, "%s", what);
}

static void check_reasons(void)
{
    check_reason("the scheduler's own reason is kept",
                 (struct job_state){.state = STATE_NODE_FAIL, .reason = "the keeper was killed"},
                 "the keeper was killed");
    check_reason("without one, the state is explained",
                 (struct job_state){.state = STATE_NODE_FAIL},
                 "a node failed; 'unetctl resume' continues elsewhere");
    check_reason("a failed script has its exit code",
                 (struct job_state){.state = STATE_FAILED, .exit_code = 7}, "exit code 7");
    check_reason("or its signal", (struct job_state){.state = STATE_FAILED, .signal = 11},
                 "signal 11");
    check_reason("a checkpoint is named",
                 (struct job_state){.state = STATE_FAILED, .exit_code = 75},
                 "stopped with a checkpoint; 'unetctl resume' continues");
    check_reason("so is a full disk",
                 (struct job_state){.state = STATE_FAILED, .exit_code = 74},
                 "it could not write into its folder: is the disk, or your quota, full? 'unetctl "
                 "resume' tries again");
    check_reason("a waiting job has the scheduler's reason",
                 (struct job_state){.state = STATE_PENDING, .reason = "Resources", .restarts = 1},
                 "restart 1, Resources");
    check_reason("a running job has none",
                 (struct job_state){.state = STATE_RUNNING, .reason = "Prolog"}, "");
    check_reason("a state of a later Slurm is not guessed",
                 (struct job_state){.state = state_find("FROZEN")},
                 "a state that this unetctl does not know; squeue and sacct show it");
    check_reason("nor that of a job of another host",
                 (struct job_state){.state = STATE_UNKNOWN, .reason = "type this there"},
                 "type this there");
}

/* age_s is the time since the end of the job. */
static void check_awaited(const char *what, double age_s, enum state job_state, int exit_code,
                          bool stopped, enum state state)
{
    struct run_status s = {.scheduler = "slurm",
                           .attempt = {.number = 1, .ran = true, .stopped = stopped}};
    struct job_state job = {.id = "7", .phase = PHASE_ENDED, .exit_code = exit_code, .uid = -1,
                            .ended = time(NULL) - (time_t)age_s};

    job.state = job_state;
    run_status_decide(&s, &job, NULL);
    is_str(state_name(s.state), state_name(state), "%s: state", what);
}

static void check_markers(void)
{
    check_awaited("ended just now", 1, STATE_COMPLETED, 0, false, STATE_ENDED);
    check_awaited("ended just now by a clock that is ahead", -5, STATE_COMPLETED, 0, false,
                  STATE_ENDED);
    check_awaited("failed just now", 50, STATE_FAILED, 7, false, STATE_ENDED);
    check_awaited("timed out just now", 50, STATE_TIMEOUT, 0, false, STATE_ENDED);
    check_awaited("skipped just now", 50, STATE_SKIPPED, 0, false, STATE_ENDED);
    check_awaited("cancelled just now", 1, STATE_CANCELLED, 0, false, STATE_CANCELLED);
    check_awaited("stopped just now with a checkpoint", 1, STATE_FAILED, 75, true, STATE_FAILED);
    check_awaited("an old checkpoint, and another exit code", 1, STATE_FAILED, 1, true,
                  STATE_ENDED);
    check_awaited("ended a minute ago", 61, STATE_COMPLETED, 0, false, STATE_FAILED);
    check_awaited("timed out a minute ago", 61, STATE_TIMEOUT, 0, false, STATE_TIMEOUT);
}

static void check_submitter(void)
{
    struct run_status s = {.scheduler = "slurm", .attempt = {.number = 1}};
    struct job_state job = {.id = "7", .phase = PHASE_PENDING, .state = STATE_PENDING,
                            .reason = "Priority: jobs of higher priority come first",
                            .uid = (long)getuid() + 1, .user = "joe"};
    struct ledger_entry entry = {.attempt = 1, .last = LEDGER_SUBMITTED, .job = "7",
                                 .uid = (long)getuid() + 1};

    run_status_decide(&s, &job, NULL);
    ok(run_status_is_others(&s), "a job of another user is of another user");
    is_str(s.reason, "submitted by joe; Priority: jobs of higher priority come first",
           "the reason names that user");
    run_status_decide(&s, NULL, &entry);
    ok(s.absent && s.state == STATE_LOST && run_status_is_others(&s), "so is a lost one");
    entry.last = LEDGER_REFUSED;
    run_status_decide(&s, NULL, &entry);
    ok(!s.absent && !run_status_is_others(&s), "what was refused is nobody's");
    entry.last = LEDGER_SUBMITTED;
    entry.uid = (long)getuid();
    run_status_decide(&s, NULL, &entry);
    ok(s.absent && !run_status_is_others(&s), "what this user submitted is not of another one");
}

int main(void)
{
    check_reasons();
    check_markers();
    check_submitter();
    check("nothing yet", RUN_NO_MARKER, false, NO_JOB, STATE_PLANNED, NO_ENTRY, RUN_PLANNED,
          STATE_PLANNED);
    check("waiting", RUN_NO_MARKER, false, PHASE_PENDING, STATE_PENDING, LEDGER_SUBMITTED,
          RUN_ACTIVE, STATE_PENDING);
    check("running, by hand", RUN_NO_MARKER, true, PHASE_RUNNING, STATE_RUNNING, NO_ENTRY,
          RUN_ACTIVE, STATE_RUNNING);
    check("done", RUN_DONE, true, PHASE_ENDED, STATE_COMPLETED, LEDGER_SUBMITTED, RUN_GOOD,
          STATE_COMPLETED);
    check("done, job still ends", RUN_DONE, true, PHASE_RUNNING, STATE_RUNNING, LEDGER_SUBMITTED,
          RUN_ACTIVE, STATE_COMPLETING);
    check("done, job forgotten", RUN_DONE, true, NO_JOB, STATE_PLANNED, LEDGER_SUBMITTED, RUN_GOOD,
          STATE_COMPLETED);
    check("failed", RUN_FAILED, true, PHASE_ENDED, STATE_FAILED, LEDGER_SUBMITTED, RUN_BAD,
          STATE_FAILED);
    check("failed, job forgotten", RUN_FAILED, true, NO_JOB, STATE_PLANNED, LEDGER_SUBMITTED,
          RUN_BAD, STATE_FAILED);
    check("failed, Slurm saw success", RUN_FAILED, true, PHASE_ENDED, STATE_COMPLETED,
          LEDGER_SUBMITTED, RUN_BAD, STATE_FAILED);
    check("failed by the time limit", RUN_FAILED, true, PHASE_ENDED, STATE_TIMEOUT,
          LEDGER_SUBMITTED, RUN_BAD, STATE_TIMEOUT);
    check("cancelled, job forgotten", RUN_FAILED, true, NO_JOB, STATE_PLANNED, LEDGER_CANCELLED,
          RUN_BAD, STATE_CANCELLED);
    check("cancelled before it began", RUN_NO_MARKER, false, NO_JOB, STATE_PLANNED,
          LEDGER_CANCELLED, RUN_BAD, STATE_CANCELLED);
    check("killed without marker", RUN_NO_MARKER, true, PHASE_ENDED, STATE_OUT_OF_MEMORY,
          LEDGER_SUBMITTED, RUN_BAD, STATE_OUT_OF_MEMORY);
    check("success without marker", RUN_NO_MARKER, true, PHASE_ENDED, STATE_COMPLETED,
          LEDGER_SUBMITTED, RUN_BAD, STATE_FAILED);
    check("vanished", RUN_NO_MARKER, true, NO_JOB, STATE_PLANNED, LEDGER_SUBMITTED, RUN_BAD,
          STATE_LOST);
    check("begun under an open submission", RUN_NO_MARKER, true, NO_JOB, STATE_PLANNED,
          LEDGER_SUBMITTING, RUN_BAD, STATE_LOST);
    check("open submission without job", RUN_NO_MARKER, false, NO_JOB, STATE_PLANNED,
          LEDGER_SUBMITTING, RUN_PLANNED, STATE_PLANNED);
    check("open submission with job", RUN_NO_MARKER, false, PHASE_PENDING, STATE_PENDING,
          LEDGER_SUBMITTING, RUN_ACTIVE, STATE_PENDING);
    check("refused", RUN_NO_MARKER, false, NO_JOB, STATE_PLANNED, LEDGER_REFUSED, RUN_PLANNED,
          STATE_PLANNED);
    return done_testing();
}
