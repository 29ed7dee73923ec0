/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of states. */
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

int main(void)
{
    check_table();
    return done_testing();
}
