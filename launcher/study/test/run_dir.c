/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads run folders in the states in which trainers, crashes and people leave them. */
#include "src/base.h"
#include "launcher/study/workspace.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "t/tap.h"

#define RUN "unet-g03-s2"

static char dir[64] = "/tmp/unetctl-run-dir.XXXXXX";

static void make_folder(const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (mkdir(path, 0777))
        bail_out("%s", path);
}

static void write_text(const char *name, const char *text)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("%s", path);
}

static void check_order(void)
{
    char names[][24] = {"unet-g100-s1", "unet-g02-s10", "unet-g10-s1", "unet-g02-s2"};
    char *ids[] = {names[0], names[1], names[2], names[3]};

    run_dir_list_sort(&(struct setting_lines){ids, 4});
    is_str(ids[0], "unet-g02-s2", "seed 2 comes first");
    is_str(ids[1], "unet-g02-s10", "then seed 10");
    is_str(ids[2], "unet-g10-s1", "10 GPUs precede 100");
    is_str(ids[3], "unet-g100-s1", "100 GPUs are last");
}

static void check_plan(void)
{
    static const char good[] =
        "{\"schema\":1,\"run\":\"" RUN
        "\",\"engine\":\"embedded\",\"seed\":2,"
        "\"layout\":{\"gpus\":3,\"nodes\":2,\"tasks\":3,\"tasks_per_node\":2,"
        "\"gpus_per_task\":1,\"strategy\":\"multi-worker\"}}";
    struct err e = {0};
    struct run run;
    struct setting_lines ids;

    ok(run_dir_list(dir, &ids, &e) == 0 && ids.count == 0,
       "a study without runs has an empty list");
    make_folder("runs");
    make_folder("runs/" RUN);
    make_folder("runs/other");
    write_text("runs/" RUN "/run.json", good);
    ok(run_dir_list(dir, &ids, &e) == 0 && ids.count == 1,
       "only folders with a run.json are runs");
    is_str(ids.count ? ids.lines[0] : "", RUN, "the run has its id");
    setting_clear_lines(&ids);
    memset(&run, 0xa5, sizeof run);
    ok(run_dir_read(dir, RUN, &run, NULL, &e) == 0, "the plan is read");
    ok(!run.resized && run.batch == 0 && run.rate_gpus == 0, "earlier values are overwritten");
    is_int(run.seed, 2, "the seed is read");
    is_int(run.layout.nodes, 2, "the number of nodes is read");
    is_int(run.layout.strategy, LAYOUT_MULTI_WORKER, "the strategy is read");
    write_text("runs/other/run.json", good);
    ok(run_dir_read(dir, "other", &run, NULL, &e) == -1 && strstr(e.text, "renamed"),
       "a renamed folder is refused");
    write_text("runs/other/run.json", "{\"run\":");
    ok(run_dir_read(dir, "other", &run, NULL, &e) == -1 && e.code == ERR_CONFIG,
       "a truncated run.json is refused");
}

static struct run_attempt read_attempt(void)
{
    struct run_attempt a;
    struct err e = {0};

    if (run_dir_attempt(dir, RUN, &a, &e))
        bail_out("%s", e.text);
    return a;
}

static void check_attempts(void)
{
    struct run_attempt a = read_attempt();

    is_int(a.number, 0, "a run without attempts has number 0");
    make_folder("runs/" RUN "/attempt-2");
    make_folder("runs/" RUN "/attempt-10");
    make_folder("runs/" RUN "/attempt-x");
    a = read_attempt();
    is_int(a.number, 10, "the newest attempt is found by number, not by letters");
    ok(!a.begun && a.marker == RUN_NO_MARKER, "an empty attempt has not begun");
    write_text("runs/" RUN "/attempt-10/run.json", "{}\n");
    a = read_attempt();
    ok(a.begun && !a.ran, "an own plan begins an attempt, but no job ran");
    write_text("runs/" RUN "/attempt-10/job", "4711\n");
    a = read_attempt();
    ok(a.begun && a.ran, "a job began the attempt");
    is_str(a.job, "4711", "the attempt has the job's id");
    write_text("runs/" RUN "/attempt-10/DONE", "{}");
    is_int(read_attempt().marker, RUN_DONE, "DONE is found");
    write_text("runs/" RUN "/attempt-10/FAILED",
               "{\"schema\":1,\"exit_code\":9,\"error\":\"why\"}");
    a = read_attempt();
    is_int(a.marker, RUN_FAILED, "FAILED beside DONE is not a success");
    is_int(a.exit_code, 9, "FAILED has the exit code");
    is_str(a.error, "why", "FAILED has the reason");
    write_text("runs/" RUN "/attempt-10/FAILED", "{");
    a = read_attempt();
    ok(a.marker == RUN_FAILED && a.exit_code == 1, "a damaged FAILED is a failure");
    write_text("runs/" RUN "/attempt-10/FAILED",
               "{\"schema\":2,\"exit_code\":9,\"error\":\"why\"}");
    a = read_attempt();
    ok(a.marker == RUN_FAILED && a.exit_code == 1 &&
           strstr(a.error, "FAILED: schema 2 is of a later version"),
       "a FAILED of a later schema is a failure, and the error says so");
}

static void check_progress(void)
{
    struct run_attempt a = read_attempt();
    struct run_progress p;

    run_dir_progress(&a, &p);
    ok(p.epochs == 0 && p.quality < 0, "a run without a record has no progress");
    write_text("runs/" RUN "/attempt-10/record.jsonl",
               "{\"kind\":\"run\",\"schema\":1,\"epochs\":30}\n"
               "{\"kind\":\"epoch\",\"epoch\":4,\"seconds\":1.5,\"loss\":0.25}\n"
               "not JSON\n"
               "{\"kind\":\"progress\",\"epoch\":5,\"step\":3,\"steps\":9}\n"
               "{\"kind\":\"epoch\",\"epoch\":5,\"sec");
    a = read_attempt();
    run_dir_progress(&a, &p);
    ok(p.epochs == 30 && p.epoch == 5 && p.step == 3 && p.steps == 9, "epochs and steps are found");
    ok(p.loss == 0.25 && p.epoch_s == 1.5, "loss and time are those of the last complete line");

    char text[8192] = "{\"kind\":\"run\",\"schema\":1,\"epochs\":30}\n"
                      "{\"kind\":\"epoch\",\"epoch\":6,\"seconds\":2.5,\"loss\":0.125}\n";
    for (int step = 1; step <= 100; step++)
        sprintf(text + strlen(text),
                "{\"kind\":\"progress\",\"epoch\":7,\"step\":%d,\"steps\":999}\n", step);
    write_text("runs/" RUN "/attempt-10/record.jsonl", text);
    run_dir_progress(&a, &p);
    ok(p.epoch == 7 && p.step == 100 && p.steps == 999, "the newest of many steps is found");
    ok(p.epochs == 30 && p.loss == 0.125, "the epoch before them is found");
    strcat(text, "{\"kind\":\"epoch\",\"epoch\":7,\"seconds\":2.5,\"loss\":0.5}\n"
                 "{\"kind\":\"end\",\"status\":\"done\",\"iou\":0.75,\"training_time\":9.5}\n");
    write_text("runs/" RUN "/attempt-10/record.jsonl", text);
    run_dir_progress(&a, &p);
    ok(p.epoch == 8 && p.steps == 0 && p.loss == 0.5 && p.quality == 0.75 && p.training_s == 9.5,
       "the end of the training is found");
    *strchr(text, '1') = '2';
    write_text("runs/" RUN "/attempt-10/record.jsonl", text);
    run_dir_progress(&a, &p);
    ok(p.epochs == 0 && p.epoch == 0 && p.quality < 0, "a record of another schema is not used");
}

static void check_output(void)
{
    struct run_attempt a = read_attempt();
    struct err e = {0};
    char path[PATH_MAX];

    ok(run_dir_output(&a, path, &e) == -1 && e.code == ERR_DATA,
       "an attempt without output is reported");
    write_text("runs/" RUN "/attempt-10/slurm-7.out", "");
    ok(run_dir_output(&a, path, &e) == 0 && strstr(path, "/slurm-7.out"),
       "the job's output is found");
    write_text("runs/" RUN "/attempt-10/slurm-9.out", "refused");
    ok(utimensat(AT_FDCWD, path, (struct timespec[]){{.tv_sec = 1}, {.tv_sec = 1}}, 0) == 0,
       "an output is made older");
    snprintf(a.job, sizeof a.job, "7");
    ok(run_dir_output(&a, path, &e) == 0 && strstr(path, "/slurm-7.out"),
       "the output of the attempt's job is found");
    *a.job = 0;
    ok(run_dir_output(&a, path, &e) == 0 && strstr(path, "/slurm-9.out"),
       "the newest output is found while the job is unknown");
}

int main(void)
{
    char command[128];

    if (!mkdtemp(dir))
        bail_out("no folder in /tmp");
    check_order();
    check_plan();
    check_attempts();
    check_progress();
    check_output();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command))
        bail_out("%s", command);
    return done_testing();
}
