/* SPDX-License-Identifier: BSD-3-Clause */
/* Rehearsals in the local queue: one whose ranks leave no report, and one that waits for too
 * long. */
#include "config.h"
#include "launcher/doctor/rehearsal.h"

#include "launcher/submit/test/demo.h"

static struct err e;

static struct job_state only_job(struct workspace *w)
{
    struct scheduler *s = workspace_scheduler(w, "local", &e);
    struct job_state *jobs, job = {0};
    size_t n;

    if (!s || scheduler_query(s, "unetctl:", false, &jobs, &n, &e))
        bail_out("%s", e.text);
    if (n > 0)
        job = jobs[n - 1];
    free(jobs);
    return job;
}

/* There is no unetctl beside this test that could be the ranks' probe. */
static void check_silent(struct workspace *w)
{
    struct rehearsal r = {.gpus = 2, .timeout_s = 60};
    char line[512], path[PATH_MAX];
    struct stat st;

    int rc = rehearsal_run(w, &r, &e);
    ok(rc == 0, "a rehearsal whose ranks fail ends: %s", rc ? e.text : "");
    ok(json_array_size(r.ranks) == 1 && json_is_null(json_array_get(r.ranks, 0)),
       "a rank without a report is null");
    is_int(only_job(w).phase, PHASE_ENDED, "its job has ended");
    ok(strncmp(r.folder, w->study.dir, strlen(w->study.dir)) == 0 && stat(r.folder, &st) == 0,
       "its folder is below the study's");
    snprintf(path, sizeof path, "%s/runs/doctor-g02/run.json", r.folder);
    ok(access(path, F_OK) == 0, "it has the files of a run");
    ok(!rehearsal_find_error(&r, line) || strstr(line, "error"),
       "an error is a line of its output");
    rehearsal_close(&r, true);
    ok(stat(r.folder, &st) == 0 && !r.ranks, "the folder can be kept");
    rehearsal_close(&r, false);
    ok(stat(r.folder, &st) != 0, "or removed");
    ok(w->ledger.count == 0, "the study's ledger is not touched");
}

static void check_late(struct workspace *w)
{
    struct rehearsal r = {.gpus = 1, .timeout_s = 1};
    char script[128], output[128], first[SCHEDULER_ID_SIZE];
    struct scheduler *s = workspace_scheduler(w, "local", &e);

    snprintf(script, sizeof script, "%s/first.sh", demo_dir);
    snprintf(output, sizeof output, "%s/first.out", demo_dir);
    demo_write("first.sh", "#!/bin/bash\nsleep 1000\n");
    struct job job = {.tag = "t:first", .name = "first", .script = script, .work_dir = demo_dir,
                      .output = output, .nodes = 1, .tasks = 1, .gpus_per_task = 1,
                      .cpus_per_task = 1};
    if (scheduler_submit(s, &job, first, &e))
        bail_out("%s", e.text);
    ok(rehearsal_run(w, &r, &e) == -1 && e.code == ERR_TIMEOUT && strstr(e.text, "PENDING"),
       "a rehearsal that waits for another job is given up: %s", e.text);
    for (int i = 0; i < 100 && only_job(w).phase != PHASE_ENDED; i++)
        usleep(100000);
    is_str(state_name(only_job(w).state), "CANCELLED", "its job is cancelled");
    rehearsal_close(&r, false);
    if (scheduler_cancel(s, first, &e))
        bail_out("%s", e.text);
}

static void check_probe(void)
{
    ok(rehearsal_probe(demo_dir, NULL, &e) == -1 && strstr(e.text, "no run.json of a rehearsal"),
       "outside of a run's folder a probe is refused: %s", e.text);
    demo_write("run.json", "{\"schema\":1,\"train\":{}}");
    ok(rehearsal_probe(demo_dir, NULL, &e) == -1 && strstr(e.text, "TF_CONFIG"),
       "one without data continues to the cluster specification: %s", e.text);
}

int main(void)
{
    demo_make();
    if (chdir(demo_dir))
        bail_out("%s", demo_dir);
    struct workspace w = demo_open(0, NULL);
    check_probe();
    check_silent(&w);
    check_late(&w);
    workspace_close(&w);
    return done_testing();
}
