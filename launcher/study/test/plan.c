/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/study/plan.h"

#include "t/tap.h"

static struct plan base = {.study = {
    .dir = "/studies/s",
    .file = "/studies/s/base.study.yaml",
    .name = "demo",
    .engine = "embedded",
    .strategy = "auto",
    .data = {.dir = "/nowhere/data",
             .height = 96,
             .width = 128,
             .channels = 1,
             .split_seed = 1244,
             .repeat = 1,
             .val_fraction = 0.2,
             .classes = 1,
             .ignore = "",
             .class_file = "",
             .cache = "auto",
             .remainder = "keep",
             .files = "all"},
    .model = {.name = "unet", .batch_norm = "local", .base = 8, .depth = 4},
    .train = {.loss = "ce",
              .class_weights = "",
              .lr_steps = "",
              .until = "",
              .keep = "last",
              .lr_plateau = "",
              .warmup = "batch",
              .optimizer = "adam",
              .lr_scaling = "linear",
              .lr_schedule = "step",
              .backend = "auto",
              .dtype = "f32",
              .comm = "auto",
              .epochs = 200,
              .batch_per_gpu = 16,
              .bucket_mib = 1,
              .timeout_s = 300,
              .lr = 0.001,
              .checkpoint_s = 600},
}, .site = {.name = "generic", .gpus_per_node = 2}};

static void check_counts(void)
{
    struct plan p;
    struct err e = {0};

    if (!ok(plan_compute(&base, "1..14", 3, &p, &e) == 0,
            "1..14 GPUs with 3 seeds are planned"))
        bail_out("%s", e.text);
    is_int(p.count, 42, "there are 42 runs");
    is_str(p.runs[0].id, "unet-g01-s1", "the id of the first run");
    is_str(p.runs[41].id, "unet-g14-s3", "the id of the last run");
    is_int(p.runs[6].layout.nodes, 2, "3 GPUs need 2 nodes");
    is_int(p.runs[6].layout.tasks, 3, "3 GPUs need 3 tasks");
    plan_free_runs(&p);
    base.site.gpus_per_node = 0;
    ok(plan_compute(&base, "5", 1, &p, &e) == 0, "a site of one node is planned");
    is_int(p.runs[0].layout.nodes, 1, "it has all GPUs on that node");
    is_int(p.runs[0].layout.gpus_per_task, 5, "one task has them");
    plan_free_runs(&p);
    base.site.gpus_per_node = 2;
}

static void check_engines(void)
{
    struct plan p;
    struct err e = {0};
    char *text;

    base.study.engine = "pytorch";
    base.study.pytorch = (struct settings_program){.script = (char *)"/t.py",
                                              .python = (char *)"python3"};
    ok(plan_compute(&base, "2", 1, &p, &e) == 0, "PyTorch on 2 GPUs is planned");
    is_str(p.runs[0].id, "pytorch-g02-s1", "the run's id begins with the engine");
    is_int(p.runs[0].layout.tasks, 2, "each GPU has a process, also on one node");
    text = run_json_encode("0", &p.runs[0], &e);
    ok(text && strstr(text, "\"engine\": \"pytorch\"") && strstr(text, "\"script\": \"/t.py\""),
       "run.json has engine and script");
    free(text);
    plan_free_runs(&p);
    base.study.strategy = "mirrored";
    ok(plan_compute(&base, "2", 1, &p, &e) == -1 && e.code == ERR_CONFIG,
       "the strategy mirrored is refused: %s", e.text);
    base.study.strategy = "auto";
    base.study.engine = "tensorflow";
    ok(plan_compute(&base, "2", 1, &p, &e) == 0, "TensorFlow on 2 GPUs is planned");
    is_int(p.runs[0].layout.gpus_per_task, 2, "one task has both");
    plan_free_runs(&p);
    base.study.engine = "embedded";
    base.study.train.comm = "self";
    ok(plan_compute(&base, "1,2", 1, &p, &e) == -1 && e.code == ERR_CONFIG &&
           strstr(e.text, "2 GPUs on site") && strstr(e.text, "train.comm: self"),
       "a communication that cannot connect the GPUs is refused: %s", e.text);
    base.study.train.comm = "auto";
}

static void check_bad(const char *gpus, const char *strategy, int code, const char *word)
{
    struct plan p;
    struct err e = {0};

    base.study.strategy = strategy;
    is_int(plan_compute(&base, gpus, 1, &p, &e), -1, "%s %s is refused", gpus,
           strategy);
    is_int(e.code, code, "exit code");
    if (!ok(strstr(e.text, word) != NULL, "the error says '%s'", word))
        printf("# %s\n", e.text);
    base.study.strategy = "auto";
}

static void check_encode(void)
{
    struct plan p;
    struct err e = {0};
    struct run_difference d;
    char *old, *new;

    if (plan_compute(&base, "3", 1, &p, &e))
        bail_out("%s", e.text);
    old = run_json_encode("0123456789abcdef", &p.runs[0], &e);
    ok(old && strstr(old, "\"study_id\": \"0123456789abcdef\"") && strstr(old, "\"lr\": 0.001") &&
           strstr(old, "\"split\": \"/studies/s/split.json\""),
       "run.json is written");
    ok(run_json_compare(old, old, NULL, &d, &e) == 0 && d.count == 0, "a plan is equal to itself");
    ok(run_json_compare(old, old, "/moved", &d, &e) == 0 && d.count == 1,
       "the plan of a moved study differs");
    is_str(d.path, "data.split", "its paths differ");
    base.study.train.lr = 0.01;
    new = run_json_encode("0123456789abcdef", &p.runs[0], &e);
    ok(run_json_compare(old, new, NULL, &d, &e) == 0 && d.count == 1,
       "another learning rate is a difference");
    ok(strcmp(d.path, "train.lr") == 0 && strcmp(d.was, "0.001") == 0 && strcmp(d.is, "0.01") == 0,
       "the difference is named");
    base.study.train.lr = 0.001;
    ok(run_json_compare("{\"schema\":1}", new, NULL, &d, &e) == 0 && strcmp(d.was, "missing") == 0,
       "a missing value is a difference");
    is_int(run_json_compare("{", new, NULL, &d, &e), -1, "text that is not JSON is refused");
    free(old);
    free(new);
    plan_free_runs(&p);
}

int main(void)
{
    check_counts();
    check_bad("0", "auto", ERR_USAGE, "0");
    check_bad("1..", "auto", ERR_USAGE, "1..");
    check_bad("14..1", "auto", ERR_USAGE, "14..1");
    check_bad("1..99999999", "auto", ERR_USAGE, "99999999");
    check_bad("2,3", "mirrored", ERR_CONFIG, "3 GPUs on site generic");
    check_engines();
    check_encode();
    return done_testing();
}
