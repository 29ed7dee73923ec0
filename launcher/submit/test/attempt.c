/* SPDX-License-Identifier: BSD-3-Clause */
/* The job of an attempt, and its files. */
#include "src/base.h"
#include "launcher/submit/attempt.h"

#include "launcher/submit/test/demo.h"

static struct workspace w;
static struct run run;
static struct err e;

static void check_job(void)
{
    struct attempt_job j;
    struct plan odd = w.plan;
    char want[256];

    ok(attempt_job(&w.plan, &run, 2, &j, &e) == 0, "an attempt has a job");
    snprintf(want, sizeof want, "unetctl:%s:unet-g01-s1:2", w.ledger.study_id);
    is_str(j.job.tag, want, "its tag names study, run and attempt");
    is_str(j.job.name, "demo-unet-g01-s1", "its name is that of study and run");
    snprintf(want, sizeof want, "%s/runs/unet-g01-s1/attempt-2/slurm-%%j.out", demo_dir);
    is_str(j.job.output, want, "its output is in the attempt's folder");
    ok(j.job.tasks == 1 && j.job.nodes == 1 && j.job.requeues == (int)w.plan.study.slurm.requeues,
       "it has the run's size, and may be requeued");
    odd.study.dir = (char *)"/100% here";
    ok(attempt_job(&odd, &run, 1, &j, &e) == 0, "a folder may have a percent sign");
    is_str(j.job.output, "/100%% here/runs/unet-g01-s1/attempt-1/slurm-%j.out",
           "which is doubled in the output");
    odd.study.dir = (char *)"/a\\b";
    odd.site.scheduler = (char *)"slurm";
    ok(attempt_job(&odd, &run, 1, &j, &e) == -1 && e.code == ERR_CONFIG && strstr(e.text, "backsl"),
       "a backslash is refused for Slurm: %s", e.text);
}

static bool is_whole(void)
{
    return attempt_is_whole(&w.plan, &run, 1, &e);
}

static void check_files(void)
{
    struct atomicfile_batch files = {0};

    ok(!is_whole(), "nothing is there: %s", e.text);
    ok(attempt_generate(&w.plan, &run, 1, &files, &e) == 0 && files.count == 3,
       "an attempt has three files");
    ok(demo_has("runs/unet-g01-s1/attempt-1") && !demo_has("runs/unet-g01-s1/run.json"),
       "its folder exists before its files");
    atomicfile_batch_abort(&files);
    attempt_remove_empty(&w.plan, &run, 1);
    ok(!demo_has("runs/unet-g01-s1"), "which is removed when these cannot be written");
    ok(attempt_generate(&w.plan, &run, 1, &files, &e) == 0, "it is made again");
    atomicfile_abort(files.files[--files.count]);
    ok(atomicfile_batch_commit(&files, &e) == 0 &&
           demo_has("runs/unet-g01-s1/submit_file.sh") &&
           !demo_has("runs/unet-g01-s1/run.json"),
       "run.json, by which readers know a run, comes last");
    ok(attempt_write(&w.plan, &run, 1, &e) == 0 && is_whole(), "after the commit it is whole");

    static const char *const names[] = {"run_file.sh", "submit_file.sh", "run.json"};
    for (size_t i = 0; i < 3; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/runs/unet-g01-s1/%s", demo_dir, names[i]);
        unlink(path);
        ok(!is_whole() && strstr(e.text, names[i]), "without %s it is not: %s", names[i], e.text);
        ok(attempt_write(&w.plan, &run, 1, &e) == 0 && is_whole(), "it is written again");
    }
}

static void check_begun(void)
{
    struct atomicfile_batch files = {0};

    demo_write("runs/unet-g01-s1/attempt-1/job", "7\n");
    demo_write("runs/unet-g01-s1/attempt-1/record.jsonl", "{}\n");
    ok(attempt_generate(&w.plan, &run, 1, &files, &e) == 0 && files.count == 0,
       "an attempt that has begun is not written again");
    w.plan.study.train.epochs++;
    ok(attempt_generate(&w.plan, &run, 1, &files, &e) == -1 && e.code == ERR_CONFIG &&
           strstr(e.text, "train.epochs"), "other settings are refused: %s", e.text);
    ok(attempt_generate(&w.plan, &run, 2, &files, &e) == 0 && files.count == 2,
       "the next attempt has two scripts and keeps run.json");
    ok(demo_has("runs/unet-g01-s1/attempt-2"), "and a folder");
    atomicfile_batch_abort(&files);
    w.plan.study.train.epochs--;
}

int main(void)
{
    demo_make();
    demo_open(&w, 0, NULL);
    if (ledger_lock(&w.ledger, 5, &e))
        bail_out("%s", e.text);
    struct plan plan = demo_plan(&w);
    run = plan.runs[0];
    check_job();
    check_files();
    check_begun();
    plan_free_runs(&plan);
    workspace_close(&w);
    return done_testing();
}
