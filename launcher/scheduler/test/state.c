/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of states, and jobs as JSON. */
#include "src/base.h"
#include "launcher/scheduler/scheduler.h"

#include "t/tap.h"

static void is_explained(enum state s, const char *want)
{
    char text[256];

    state_explain(s, text, sizeof text);
    is_str(text, want, "%s", state_name(s));
}

static void check_table(void)
{
    const char *const *names = state_names();
    bool same = true;

    for (int i = 0; i < STATE_COUNT; i++)
        same &= names[i] == state_name((enum state)i) && state_find(names[i]) == (enum state)i;
    ok(same && !names[STATE_COUNT], "each state is found by its name");
    ok(state_find("FROZEN") == STATE_UNKNOWN && state_find("") == STATE_UNKNOWN,
       "a name that is not in the table is that of no known state");
    ok(state_job_phase(STATE_UNKNOWN) != PHASE_ENDED &&
           state_run_phase(STATE_UNKNOWN) == RUN_UNKNOWN,
       "a job in such a state has not ended, and its run is unknown");
    for (int i = 0; i < STATE_COUNT; i++)
        if (state_job_phase((enum state)i) == PHASE_PENDING && i != STATE_PLANNED)
            ok(state_run_phase((enum state)i) == RUN_ACTIVE, "%s: a job that waits is active",
               names[i]);
    is_explained(STATE_TIMEOUT, "the time limit was reached; 'unetctl resume' continues, or give "
                 "it more time (slurm.time)");
    is_explained(STATE_CANCELLED, "'unetctl resume' continues");
    is_explained(STATE_REVOKED, "another cluster took it");
    is_explained(STATE_FAILED, "");
}

static void check_json(void)
{
    struct job_state s = {.id = "7", .reason = "Resources", .exit_code = 3, .signal = 9,
                          .restarts = 2, .submitted = 100, .started = 110, .ended = 120,
                          .nodes = "n[1-2]", .tag = "t:1", .name = "\xff", .uid = 1000,
                          .user = "joe"};
    struct job_state back;

    job_state_set(&s, STATE_OUT_OF_MEMORY);
    json_t *o = job_state_encode(&s), *empty = json_object();
    is_str(json_string_value(json_object_get(o, "state")), "OUT_OF_MEMORY", "the state is a name");
    job_state_decode(o, &back);
    ok(back.state == s.state && back.phase == PHASE_ENDED, "it is read, with its phase");
    ok(back.exit_code == 3 && back.signal == 9 && back.restarts == 2 && back.submitted == 100 &&
           back.started == 110 && back.ended == 120 && back.uid == 1000, "so are the numbers");
    ok(strcmp(back.id, "7") == 0 && strcmp(back.reason, "Resources") == 0 &&
           strcmp(back.nodes, s.nodes) == 0 && strcmp(back.tag, "t:1") == 0 &&
           strcmp(back.user, "joe") == 0, "and the texts");
    is_str(back.name, "", "a text that is not UTF-8 is left out");
    job_state_decode(empty, &back);
    ok(back.state == STATE_UNKNOWN && back.uid == -1 && !*back.id, "an empty object says nothing");
    json_decref(o);
    snprintf(s.nodes, sizeof s.nodes, "(null)");
    o = job_state_encode(&s);
    job_state_decode(o, &back);
    is_str(back.nodes, "", "a text that Slurm does not have is left out");
    json_decref(o);
    json_decref(empty);
}

int main(void)
{
    check_table();
    check_json();
    return done_testing();
}
