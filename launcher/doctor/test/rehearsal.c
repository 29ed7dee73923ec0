/* SPDX-License-Identifier: BSD-3-Clause */
/* Rehearsals in the local queue: one whose ranks leave no report, one that has a damaged one, and
 * one that waits for too long. */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include <glob.h>

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
    struct rehearsal_options options = {.gpus = "2", .timeout_s = 60};
    struct findings f = {0};
    char pattern[PATH_MAX];
    glob_t found;

    int rc = rehearsal_run(w, &options, &f, &e);
    ok(rc == 0, "a rehearsal whose ranks fail ends: %s", rc ? e.text : "");
    const struct finding *last = f.count ? &f.list[f.count - 1] : NULL;
    is_int(findings_count(&f, FINDING_ERROR), f.count, "it finds errors");
    ok(last && strcmp(last->check, "ranks") == 0 && strstr(last->text, "1 of 1 ranks did not"),
       "a rank without a report is one: %s", last ? last->text : "");
    is_int(only_job(w).phase, PHASE_ENDED, "its job has ended");
    snprintf(pattern, sizeof pattern, "%s/.unetctl/doctor/*/runs/doctor-g02/run.json",
             w->plan.study.dir);
    ok(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1,
       "its folder is below the study's, has the files of a run, and is kept");
    globfree(&found);
    ok(w->ledger.count == 0, "the study's ledger is not touched");
    findings_destroy(&f);
}

static void check_damaged(struct workspace *w)
{
    char *lines[] = {(char *)"echo '{' >../../rank-0.json", NULL};
    struct setting_lines before = w->plan.site.setup;
    struct rehearsal_options options = {.gpus = "1", .timeout_s = 60};
    struct findings f = {0};

    w->plan.site.setup = (struct setting_lines){.lines = lines, .count = 1};
    ok(rehearsal_run(w, &options, &f, &e) == -1 && e.code == ERR_DATA &&
           strstr(e.text, "rank-0.json:"), "a damaged report is named: %s", e.text);
    is_int(f.count, 0, "and is not taken for one that was not written");
    w->plan.site.setup = before;
    findings_destroy(&f);
}

static void check_late(struct workspace *w)
{
    struct rehearsal_options options = {.gpus = "1", .timeout_s = 1};
    struct findings f = {0};
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
    ok(rehearsal_run(w, &options, &f, &e) == -1 && e.code == ERR_TIMEOUT && strstr(e.text, "PENDING"),
       "a rehearsal that waits for another job is given up: %s", e.text);
    for (int i = 0; i < 100 && only_job(w).phase != PHASE_ENDED; i++)
        usleep(100000);
    is_str(state_name(only_job(w).state), "CANCELLED", "its job is cancelled");
    if (scheduler_cancel(s, first, &e))
        bail_out("%s", e.text);
}

static void check_probe(void)
{
    ok(facts_probe(demo_dir, NULL, &e) == -1 && strstr(e.text, "no run.json of a rehearsal"),
       "outside of a run's folder a probe is refused: %s", e.text);
    demo_write("run.json", "{\"schema\":1,\"train\":{}}");
    ok(facts_probe(demo_dir, NULL, &e) == -1 && strstr(e.text, "TF_CONFIG"),
       "one without data continues to the cluster specification: %s", e.text);
}

int main(void)
{
    demo_make();
    if (chdir(demo_dir))
        bail_out("%s", demo_dir);
    struct workspace w;

    demo_open(&w, 0, NULL);
    check_probe();
    check_silent(&w);
    check_damaged(&w);
    check_late(&w);
    workspace_close(&w);
    return done_testing();
}
