/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/results/results.h"

#include "launcher/collect/collect_internal.h"
#include "launcher/study/study.h"
#include "t/tap.h"

static void encoded(const char *plan_text, const char *backend, const char *want, const char *what)
{
    json_t *plan = json_loads(plan_text, 0, NULL);
    char *text = result_settings_encode(plan, backend, "Tesla V100", "");

    is_str(text, want, "%s", what);
    free(text);
    json_decref(plan);
}

static void check_plans(void)
{
    encoded("{}", "", "", "a plan without any setting");
    encoded(
        "{\"engine\":\"embedded\",\"data\":{\"height\":32,\"channels\":1,"
        "\"split\":\"/s/split.json\",\"cache\":\"/s/c\"},\"model\":{\"name\":\"unet\"},"
        "\"train\":{\"lr\":0.001,\"optimizer\":\"sgd\",\"nesterov\":true,\"timeout_s\":7}}",
        "dnnl",
        "data.height=32; data.cache=./c; train.optimizer=sgd; train.nesterov=true; "
        "train.backend=dnnl",
        "built-in values and what changes no result are left out, the backend that computed is "
        "there");
    encoded("{}", "cuda", "train.backend=cuda; device=Tesla V100", "the model of the GPU counts");
    encoded("{\"train\":{\"allreduce\":\"native\",\"cycle_ms\":1.0,\"compress\":\"none\"}}", "",
            "train.allreduce=native", "a key of an earlier version, unless it is at its preset");
    encoded("{\"train\":{\"batch_per_gpu\":4,\"global_batch\":16}}", "", "train.global_batch=16",
            "the batch of each GPU is left out if there is a global batch");
    encoded("{\"engine\":\"embedded\",\"layout\":{\"nodes\":1,\"tasks\":2}}", "",
            "strategy=multi-worker", "processes on one node are not what strategy auto makes");
    encoded("{\"engine\":\"pytorch\",\"layout\":{\"nodes\":1,\"tasks\":2}}", "", "",
            "engines with one process per GPU need no strategy");
    encoded("{\"engine\":\"embedded\",\"layout\":{\"nodes\":2,\"tasks\":2}}", "", "",
            "processes on several nodes need no strategy");
    encoded("{\"train\":{\"batch_per_gpu\":4,\"global_batch\":0}}", "", "train.batch_per_gpu=4",
            "without a global batch the batch of each GPU is kept");
    encoded(
        "{\"engine\":\"pytorch\",\"program\":"
        "{\"script\":\"/a;b\\\\c.py\",\"args\":[\"-x\",\"1\"]}}",
        "", "pytorch.script=/a\\;b\\\\c.py; pytorch.args=-x 1", "what another engine runs");
}

/* Checks that all settings of the model and of augmentation are marked as changing a result. */
static void check_table(void)
{
    size_t n = 0;

    for (const struct setting *k = settings_of_study; k->path; k++)
        if (strncmp(k->path, "augment.", 8) == 0 || strncmp(k->path, "model.", 6) == 0) {
            n++;
            ok(k->affects_result, "%s changes a result", k->path);
        }
    ok(n > 10, "many keys change a result");
}

static void check_values(void)
{
    struct buf b = {0}, value = {0};
    struct setting_text s;

    settings_add(&b, "a", "1;2\\3");
    settings_add(&b, "b", "");
    const char *at = b.data;
    ok(settings_next(&at, &s) && s.nkey == 1, "the first setting is read");
    settings_add_value(&value, &s);
    is_str(value.data, "1;2\\3", "its value is the one that was added");
    ok(settings_next(&at, &s) && *s.key == 'b' && s.nvalue == 0,
       "the second setting, which is empty, is read");
    ok(!settings_next(&at, &s), "then the settings end");
    at = "nonsense";
    ok(!settings_next(&at, &s), "text that is not a setting ends the settings");
    buf_destroy(&b);
    buf_destroy(&value);
}

static void told(const char *const *texts, size_t n, size_t i, const char *want, const char *what)
{
    struct buf b = {0};

    buf_add(&b, "");
    settings_tell_apart(texts, n, i, &b);
    is_str(b.data, want, "%s", what);
    buf_destroy(&b);
}

static void check_names(void)
{
    static const char *const texts[] = {"a=1; b=2; c=3", "a=1; b=4", "a=1; b=4; c=3", NULL};

    told(texts, 3, 0, ", b 2, c 3", "what differs");
    told(texts, 3, 1, ", b 4", "a built-in value is not named");
    told(texts, 1, 0, "", "one series has nothing to differ from");
    told(texts + 3, 1, 0, "", "nor has one that is not known");
    told(texts + 2, 2, 1, ", settings not known", "beside one that is");
    char *alone = settings_common("strategy=mirrored; a=1; train.batch_per_gpu=8; b=2", true);
    is_str(alone, "a=1; train.global_batch=8; b=2",
           "on one GPU the batch of each GPU becomes the global one");
    free(alone);
    char *spread = settings_common("strategy=mirrored; train.batch_per_gpu=8; b=2", false);
    is_str(spread, "train.batch_per_gpu=8; b=2",
           "on several nodes the batch stays and the strategy goes");
    free(spread);
    ok(settings_equal(NULL, NULL) && !settings_equal(NULL, "") && settings_equal("a=1", "a=1"),
       "equality of settings");
}

int main(void)
{
    check_plans();
    check_table();
    check_values();
    check_names();
    return done_testing();
}
