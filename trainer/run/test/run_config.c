/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/run/setup.h"

#include "t/tap.h"

/* The example of doc/FORMATS.md, shortened and with some other values. */
static const char good[] =
    "{\"schema\":1,"
    "\"study\":\"demo\",\"study_id\":\"0a1b\",\"run\":\"unet-g03-s1\",\"engine\":\"embedded\","
    "\"seed\":7,"
    "\"data\":{\"dir\":\"/abs\",\"split\":\"/abs/STUDY/split.json\",\"height\":96,\"width\":128,"
    "\"channels\":1,\"repeat\":1,\"soft_masks\":false,\"classes\":1,"
    "\"ignore\":\"255\",\"class_file\":\"\",\"remainder\":\"keep\"},"
    "\"model\":{\"name\":\"unet\",\"base\":8,\"depth\":4,\"batch_norm\":\"local\"},"
    "\"train\":{\"epochs\":200,\"batch_per_gpu\":16,\"optimizer\":\"adam\",\"lr\":0.001,"
    "\"lr_scaling\":\"linear\",\"lr_schedule\":\"step\",\"backend\":\"auto\",\"comm\":\"auto\","
    "\"threads\":0,\"bucket_mib\":1,\"timeout_s\":300},"
    "\"layout\":{\"gpus\":3,\"nodes\":2,\"tasks\":3,\"tasks_per_node\":2,\"gpus_per_task\":1,"
    "\"strategy\":\"multi-worker\"}}\n";

static char path[64];

static int read_text(struct settings *c, const char *text, struct err *e)
{
    FILE *f = fopen(path, "w");

    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("cannot write %s", path);
    if (run_config_init(c, e))
        bail_out("%s", e->text);
    return run_config_read(c, path, e);
}

/* The good file with its first `from` replaced by `to` must be refused with `want` in the text. */
static void refuse_run_json(const char *from, const char *to, const char *want)
{
    char text[4096];
    struct settings c;
    struct err e = {0};
    const char *at = strstr(good, from);

    if (!at)
        bail_out("the test looks for %s", from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    int rc = read_text(&c, text, &e);
    ok(rc == -1 && e.code == ERR_CONFIG && strstr(e.text, want) && strstr(e.text, path),
       "refused: %s", e.text);
    run_config_destroy(&c);
}

static void test_read(void)
{
    struct settings c, again;
    struct err e = {0};

    ok(read_text(&c, good, &e) == 0, "the documented run.json is read %s", e.text);
    is_str(c.train.dtype, "f32", "without train.dtype it means f32");
    is_str(c.study, "demo", "study");
    is_str(c.data.split, "/abs/STUDY/split.json", "data.split");
    is_int(c.seed, 7, "seed");
    ok(!c.data.soft_masks, "data.soft_masks");
    is_str(c.data.ignore, "255", "data.ignore");
    is_str(c.layout.strategy, "multi-worker", "layout.strategy");
    is_int(c.layout.tasks, 3, "layout.tasks");
    ok(c.train.lr == 0.001, "train.lr");
    read_text(&again, good, &e);
    ok(run_config_hash(&c) == run_config_hash(&again), "equal files have equal hashes");
    again.train.lr = 0.002;
    ok(run_config_hash(&c) != run_config_hash(&again), "another rate has another hash");
    run_config_destroy(&c);
    run_config_destroy(&again);
}

static void test_refusals(void)
{
    refuse_run_json("\"schema\":1", "\"schema\":2", "schema 2 is of a later version");
    refuse_run_json("\"schema\":1,", "", "schema: must be 1");
    refuse_run_json("\"base\":8", "\"basse\":8",
                    "unknown key 'model.basse'; did you mean 'model.base'?");
    refuse_run_json("\"seed\":7", "\"seed\":7,\"color\":1", "unknown key 'color'");
    refuse_run_json("\"lr\":0.001,", "", "train.lr: missing");
    refuse_run_json("\"lr\":0.001", "\"lr\":\"0.001\"", "train.lr: must be a number");
    refuse_run_json("\"lr\":0.001", "\"lr\":0", "train.lr: '0' must be from");
    refuse_run_json("\"epochs\":200", "\"epochs\":2.5", "train.epochs: '2.5' is not a whole number");
    refuse_run_json("\"epochs\":200", "\"epochs\":1e99", "train.epochs: ");
    refuse_run_json("\"epochs\":200", "\"epochs\":200,\"epochs\":3", "train.epochs: given twice");
    refuse_run_json("\"soft_masks\":false", "\"soft_masks\":true", "data.soft_masks: grey values have no");
    refuse_run_json("\"soft_masks\":false", "\"soft_masks\":1", "data.soft_masks: must be true or false");
    refuse_run_json(
        "\"local\"", "\"global\"",
        "model.batch_norm: unknown word 'global'; did you mean 'local'? (known: local, sync, none)");
    refuse_run_json("\"study\":\"demo\"", "\"study\":null", "study: must be a string");
    refuse_run_json("{\"gpus\":3", "{\"gpus\":4", "layout: 3 tasks with 1 GPUs each are not the 4 GPUs");
    refuse_run_json("\"nodes\":2", "\"nodes\":1", "do not fit on 1 nodes");
    refuse_run_json("\"multi-worker\"", "\"mirrored\"", "mirrored is one task");
    refuse_run_json("\"comm\":\"auto\"", "\"comm\":\"self\"", "train.comm: self cannot connect 3 tasks");
    refuse_run_json("\"height\":96", "\"height\":100", "multiples of 16; the nearest is 112x128");
    refuse_run_json("\"channels\":1", "\"channels\":65", "data.channels");
    refuse_run_json("\"layout\":{", "\"layout\":[{", "is not JSON from byte");
    refuse_run_json("}}\n", "}} x", "not JSON");
    refuse_run_json("\"layout\":", "\"rest\":", "unknown key 'rest'");
}

static void test_by_hand(void)
{
    struct settings c;
    struct err e = {0};

    ok(run_config_init(&c, &e) == 0 && run_config_check(&c, &e) == -1 && strstr(e.text, "data.dir"),
       "by hand: without data: %s", e.text);
    ok(run_config_set(&c, "data.dir", "d", &e) == 0 &&
       run_config_set(&c, "data.height", "64", &e) == 0 &&
       run_config_set(&c, "data.width", "32", &e) == 0 && run_config_check(&c, &e) == 0,
       "by hand: data and size are enough %s", e.text);
    ok(run_config_set(&c, "train.lr", "1e-2", &e) == 0 && c.train.lr == 0.01, "a number from text");
    ok(run_config_set(&c, "train.lr", "fast", &e) == -1 && e.code == ERR_USAGE, "%s", e.text);
    ok(run_config_set(&c, "train.epochs", "0", &e) == -1 && e.code == ERR_USAGE, "%s", e.text);
    ok(run_config_set(&c, "train.backend", "gpu", &e) == -1 && e.code == ERR_USAGE, "%s", e.text);
    run_config_destroy(&c);
    run_config_destroy(NULL);
}

int main(void)
{
    struct settings c;
    struct err e = {0};

    snprintf(path, sizeof path, "/tmp/run_config.%d.json", (int)getpid());
    test_read();
    test_refusals();
    test_by_hand();
    unlink(path);
    run_config_init(&c, &e);
    ok(run_config_read(&c, path, &e) == -1 && e.code == ERR_CONFIG, "no file: %s", e.text);
    run_config_destroy(&c);
    return done_testing();
}
