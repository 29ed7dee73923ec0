/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests which of a study's jobs is the one of an attempt. */
#include "src/base.h"
#include "launcher/status/status_internal.h"

#include "t/tap.h"

int main(void)
{
    struct plan plan = {.study_id = "00c0ffee"};
    /* sorted by tag, then by id, as study_jobs_query() stores them */
    const struct job_state jobs[] = {
        {.id = "3", .tag = "unetctl:00c0ffee:g01:1", .phase = PHASE_ENDED},
        {.id = "4", .tag = "unetctl:00c0ffee:g01:1", .phase = PHASE_RUNNING},
        {.id = "9", .tag = "unetctl:00c0ffee:g01:1", .phase = PHASE_ENDED},
        {.id = "5", .tag = "unetctl:00c0ffee:g02:1", .phase = PHASE_ENDED},
        {.id = "8", .tag = "unetctl:00c0ffee:g02:1", .phase = PHASE_ENDED},
        {.id = "6", .tag = "unetctl:00c0ffee:g02:2", .phase = PHASE_PENDING},
    };
    size_t n = sizeof jobs / sizeof *jobs;

    ok(status_find_job(&plan, "g01", 1, "3", jobs, n) == &jobs[0], "the job that took the folder");
    ok(status_find_job(&plan, "g01", 1, "7", jobs, n) == &jobs[1],
       "the one that is active, where that job is not listed");
    ok(status_find_job(&plan, "g01", 1, NULL, jobs, n) == &jobs[1], "or where none took it");
    ok(status_find_job(&plan, "g02", 1, NULL, jobs, n) == &jobs[4],
       "the newest, where all have ended");
    ok(status_find_job(&plan, "g02", 2, NULL, jobs, n) == &jobs[5], "each attempt has its own");
    ok(!status_find_job(&plan, "g02", 3, NULL, jobs, n), "none of an attempt without a job");
    ok(!status_find_job(&plan, "g0", 1, NULL, jobs, n),
       "none of a run whose name is only the beginning of another's");
    ok(!status_find_job(&plan, "g01", 1, NULL, jobs, 0), "none without jobs");
    plan.study_id = "00decade";
    ok(!status_find_job(&plan, "g01", 1, NULL, jobs, n), "none of another study");

    struct job_state all = {.state = STATE_RUNNING, .phase = PHASE_RUNNING, .started = 1};
    status_set_run_state(&all, &(const struct run_attempt){.marker = RUN_DONE});
    ok(all.state == STATE_COMPLETED && !all.started, "a run has not the times of an allocation");
    return done_testing();
}
