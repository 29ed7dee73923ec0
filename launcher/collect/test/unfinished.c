/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/collect_internal.h"

#include "t/tap.h"

static void check(enum run_phase phase, enum state state, const char *reason,
                  enum result_state want, const char *note)
{
    struct run_status status = {.phase = phase, .state = state};
    struct result r;

    result_init(&r);
    snprintf(status.reason, sizeof status.reason, "%s", reason);
    unfinished_decide(&r, &status);
    is_str(result_state_names[r.state], result_state_names[want], "%s is %s", state_name(state),
           result_state_names[want]);
    is_str(r.note, note, "the note explains it");
}

int main(void)
{
    check(RUN_ACTIVE, STATE_PENDING, "Resources", RESULT_PENDING, "its job is waiting: Resources");
    check(RUN_ACTIVE, STATE_RUNNING, "", RESULT_RUNNING, "its job is running");
    check(RUN_BAD, STATE_CANCELLED, "", RESULT_CANCELLED, "its job was cancelled");
    check(RUN_BAD, STATE_OUT_OF_MEMORY, "", RESULT_KILLED, "its job ended as OUT_OF_MEMORY");
    check(RUN_BAD, STATE_FAILED, "exit code 9", RESULT_KILLED,
          "its job ended as FAILED: exit code 9");
    check(RUN_PLANNED, STATE_PLANNED, "", RESULT_NOT_STARTED, "generated, but never started");
    check(RUN_PLANNED, STATE_PLANNED, "the scheduler refused it", RESULT_NOT_STARTED,
          "generated, but never started: the scheduler refused it");
    check(RUN_UNKNOWN, STATE_UNKNOWN, "the scheduler cannot be asked", RESULT_UNFINISHED,
          "neither DONE nor FAILED: the scheduler cannot be asked");
    check(RUN_GOOD, STATE_COMPLETED, "", RESULT_RUNNING, "it finished just now: collect again");
    struct run_status damaged = {.phase = RUN_BAD, .state = STATE_DAMAGED,
                                 .damage = "run.json:1: no layout"};
    struct result r;
    result_init(&r);
    unfinished_decide(&r, &damaged);
    ok(r.state == RESULT_UNFINISHED && strstr(r.note, "neither DONE nor FAILED: run.json:1"),
       "a plan that cannot be read does not end a job: %s", r.note);
    return done_testing();
}
