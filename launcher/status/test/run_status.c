/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the state of a run for typical combinations of marker, job and ledger entry, and the reason
 * that is shown for a lost node. */
#include "config.h"
#include "launcher/status/run_status.h"

#include <time.h>
#include <unistd.h>

#include "t/tap.h"

#define NO_JOB (-1)
#define NO_ENTRY (-1)

static void check(const char *what, enum run_marker marker, bool ran, int job_phase,
                  const char *job_state, int event, enum run_phase phase, const char *state)
{
    struct run_status s = {.attempt = {.number = 1, .ran = ran, .marker = marker,
                                       .exit_code = 5, .error = "peer lost"}};
    struct job_state job = {.id = "7", .phase = (enum job_phase)job_phase, .exit_code = 1,
                            .uid = -1};
    struct ledger_entry entry = {.attempt = 1, .last = (enum ledger_event)event, .job = "7",
                                 .uid = -1};

    snprintf(job.state, sizeof job.state, "%s", job_state);
    run_status_decide(&s, job_phase == NO_JOB ? NULL : &job, event == NO_ENTRY ? NULL : &entry);
    is_str(s.state, state, "%s: state", what);
    is_int(s.phase, phase, "%s: phase", what);
}

static void check_lost_keeper(void)
{
    struct run_status s = {.scheduler = "local", .attempt = {.number = 1, .begun = true}};
    struct job_state job = {.id = "7", .phase = JOB_ENDED, .state = "NODE_FAIL",
                            .reason = "the keeper was killed", .uid = -1};

    run_status_decide(&s, &job, NULL);
    is_str(s.reason, "the keeper was killed; 'unetctl resume' continues",
           "the words of the local queue are not translated");
    snprintf(s.scheduler, sizeof s.scheduler, "slurm");
    run_status_decide(&s, &job, NULL);
    is_str(s.reason, "a node failed; 'unetctl resume' continues elsewhere",
           "Slurm's words are explained");
}

/* age_s is the time since the end of the job. */
static void check_awaited(const char *what, double age_s, const char *job_state, int exit_code,
                          bool stopped, const char *state)
{
    struct run_status s = {.scheduler = "slurm",
                           .attempt = {.number = 1, .ran = true, .stopped = stopped}};
    struct job_state job = {.id = "7", .phase = JOB_ENDED, .exit_code = exit_code, .uid = -1,
                            .ended = time(NULL) - (time_t)age_s};

    snprintf(job.state, sizeof job.state, "%s", job_state);
    run_status_decide(&s, &job, NULL);
    is_str(s.state, state, "%s: state", what);
    is_int(s.detail, strcmp(state, "ENDED") == 0 ? RUN_AWAITED : RUN_PLAIN, "%s: detail", what);
}

static void check_markers(void)
{
    check_awaited("ended just now", 1, "COMPLETED", 0, false, "ENDED");
    check_awaited("ended just now by a clock that is ahead", -5, "COMPLETED", 0, false, "ENDED");
    check_awaited("failed just now", 50, "FAILED", 7, false, "ENDED");
    check_awaited("timed out just now", 50, "TIMEOUT", 0, false, "ENDED");
    check_awaited("skipped just now", 50, "SKIPPED", 0, false, "ENDED");
    check_awaited("cancelled just now", 1, "CANCELLED", 0, false, "CANCELLED");
    check_awaited("stopped just now with a checkpoint", 1, "FAILED", 75, true, "FAILED");
    check_awaited("an old checkpoint, and another exit code", 1, "FAILED", 1, true, "ENDED");
    check_awaited("ended a minute ago", 61, "COMPLETED", 0, false, "FAILED");
    check_awaited("timed out a minute ago", 61, "TIMEOUT", 0, false, "TIMEOUT");
}

static void check_submitter(void)
{
    struct run_status s = {.scheduler = "slurm", .attempt = {.number = 1}};
    struct job_state job = {.id = "7", .phase = JOB_PENDING, .state = "PENDING",
                            .reason = "Priority", .uid = (long)getuid() + 1, .user = "joe"};
    struct ledger_entry entry = {.attempt = 1, .last = LEDGER_SUBMITTED, .job = "7",
                                 .uid = (long)getuid() + 1};

    run_status_decide(&s, &job, NULL);
    ok(run_status_is_others(&s), "a job of another user is of another user");
    is_str(s.reason, "submitted by joe; Priority: jobs of higher priority come first",
           "the reason names that user");
    run_status_decide(&s, NULL, &entry);
    ok(s.absent && s.detail == RUN_LOST && run_status_is_others(&s), "so is a lost one");
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
    check_lost_keeper();
    check_markers();
    check_submitter();
    check("nothing yet", RUN_NO_MARKER, false, NO_JOB, "", NO_ENTRY, RUN_PLANNED, "PLANNED");
    check("waiting", RUN_NO_MARKER, false, JOB_PENDING, "PENDING", LEDGER_SUBMITTED, RUN_ACTIVE,
          "PENDING");
    check("running, by hand", RUN_NO_MARKER, true, JOB_RUNNING, "RUNNING", NO_ENTRY, RUN_ACTIVE,
          "RUNNING");
    check("done", RUN_DONE, true, JOB_ENDED, "COMPLETED", LEDGER_SUBMITTED, RUN_GOOD, "COMPLETED");
    check("done, job still ends", RUN_DONE, true, JOB_RUNNING, "RUNNING", LEDGER_SUBMITTED,
          RUN_ACTIVE, "COMPLETING");
    check("done, job forgotten", RUN_DONE, true, NO_JOB, "", LEDGER_SUBMITTED, RUN_GOOD,
          "COMPLETED");
    check("failed", RUN_FAILED, true, JOB_ENDED, "FAILED", LEDGER_SUBMITTED, RUN_BAD, "FAILED");
    check("failed, job forgotten", RUN_FAILED, true, NO_JOB, "", LEDGER_SUBMITTED, RUN_BAD,
          "FAILED");
    check("failed, Slurm saw success", RUN_FAILED, true, JOB_ENDED, "COMPLETED", LEDGER_SUBMITTED,
          RUN_BAD, "FAILED");
    check("failed by the time limit", RUN_FAILED, true, JOB_ENDED, "TIMEOUT", LEDGER_SUBMITTED,
          RUN_BAD, "TIMEOUT");
    check("cancelled, job forgotten", RUN_FAILED, true, NO_JOB, "", LEDGER_CANCELLED, RUN_BAD,
          "CANCELLED");
    check("cancelled before it began", RUN_NO_MARKER, false, NO_JOB, "", LEDGER_CANCELLED, RUN_BAD,
          "CANCELLED");
    check("killed without marker", RUN_NO_MARKER, true, JOB_ENDED, "OUT_OF_MEMORY",
          LEDGER_SUBMITTED, RUN_BAD, "OUT_OF_MEMORY");
    check("success without marker", RUN_NO_MARKER, true, JOB_ENDED, "COMPLETED", LEDGER_SUBMITTED,
          RUN_BAD, "FAILED");
    check("vanished", RUN_NO_MARKER, true, NO_JOB, "", LEDGER_SUBMITTED, RUN_BAD, "LOST");
    check("begun under an open submission", RUN_NO_MARKER, true, NO_JOB, "", LEDGER_SUBMITTING,
          RUN_BAD, "LOST");
    check("open submission without job", RUN_NO_MARKER, false, NO_JOB, "", LEDGER_SUBMITTING,
          RUN_PLANNED, "PLANNED");
    check("open submission with job", RUN_NO_MARKER, false, JOB_PENDING, "PENDING",
          LEDGER_SUBMITTING, RUN_ACTIVE, "PENDING");
    check("refused", RUN_NO_MARKER, false, NO_JOB, "", LEDGER_REFUSED, RUN_PLANNED, "PLANNED");
    return done_testing();
}
