/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/result_settings.h"

#include <stdbool.h>
#include <string.h>

#include "launcher/collect/results/settings.h"
#include "launcher/study/engine.h"
#include "launcher/study/run_json.h"
#include "launcher/study/run_json.h"

/* Adds a text. Paths in the study's folder are written relative to it, so that they stay equal
 * when the study is moved. */
static void add_string(struct buf *b, const json_t *plan, const char *text)
{
    size_t n;
    const char *folder = run_json_study_dir(plan, &n);
    bool below = n > 0 && strncmp(text, folder, n) == 0 && text[n] == '/';

    buf_addf(b, "%s%s", below ? "." : "", below ? text + n : text);
}

static void add_setting_text(struct buf *b, const json_t *plan, const json_t *value)
{
    const json_t *item;
    size_t i;

    if (json_is_string(value))
        add_string(b, plan, json_string_value(value));
    else if (json_is_integer(value))
        buf_addf(b, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        buf_addf(b, "%.15g", json_real_value(value));
    else if (json_is_boolean(value))
        buf_add(b, json_is_true(value) ? "true" : "false");
    json_array_foreach(value, i, item) {
        buf_add(b, i ? " " : "");
        add_setting_text(b, plan, item);
    }
}

/* Returns whether the layout is multi-worker by choice. It is if several tasks run on one node,
 * where one could have all GPUs; any other layout is what the strategy auto would choose. */
static bool is_multi_worker(const json_t *plan)
{
    const json_t *layout = json_object_get(plan, "layout");
    const char *name = json_string_value(json_object_get(plan, "engine"));
    struct err ignored;
    const struct engine *engine = name ? engine_find(name, &ignored) : NULL;

    return engine && !engine->rank_per_gpu &&
           json_integer_value(json_object_get(layout, "nodes")) == 1 &&
           json_integer_value(json_object_get(layout, "tasks")) > 1;
}

/* Returns whether path is the one of the two batch settings that does not apply to the run.
 * train.global_batch applies if the plan has it, and otherwise train.batch_per_gpu. */
static bool is_other_batch(const json_t *plan, const char *path)
{
    bool global = json_integer_value(run_json_value(plan, SETTINGS_GLOBAL_BATCH)) > 0;

    return strcmp(path, global ? SETTINGS_BATCH_PER_GPU : SETTINGS_GLOBAL_BATCH) == 0;
}

static bool is_batch(const char *path)
{
    return strcmp(path, SETTINGS_BATCH_PER_GPU) == 0 || strcmp(path, SETTINGS_GLOBAL_BATCH) == 0;
}

static void add_setting(struct buf *dst, const struct setting *key, const json_t *plan,
                        const char *backend)
{
    const json_t *value = run_json_value(plan, key->path);
    bool computed = *backend && strcmp(key->path, "train.backend") == 0;
    const char *word = json_string_value(value);
    bool is_unused = word && !*word && strcmp(setting_leaf(key), "python") == 0; /* no script of it */
    struct buf text = {0};

    buf_add(&text, computed ? backend : "");
    if (!computed)
        add_setting_text(&text, plan, value);
    if (computed || (value && !is_unused && !is_other_batch(plan, key->path) && !text.failed &&
                     (is_batch(key->path) || !setting_json_is_preset(key, value))))
        settings_add(dst, key->path, text.data);
    dst->failed |= text.failed;
    buf_destroy(&text);
}

char *result_settings_encode(const json_t *plan, const char *backend, const char *device,
                             const char *script)
{
    struct buf b = {0};

    if (is_multi_worker(plan))
        settings_add(&b, SETTINGS_STRATEGY, "multi-worker");
    for (const struct setting *key = settings_of_study; key->path; key++)
        if (key->affects_result)
            add_setting(&b, key, plan, backend);
    for (const struct setting *key = settings_of_run; key->path; key++)
        if (key->affects_result && !setting_find(settings_of_study, key->path))
            add_setting(&b, key, plan, backend);
    for (const struct setting *key = settings_gone; key->path; key++)
        if (key->affects_result)
            add_setting(&b, key, plan, backend);
    if (*script)
        settings_add(&b, "script", script);
    if (strcmp(backend, "cuda") == 0 && *device)
        settings_add(&b, "device", device);
    return buf_steal(&b);
}
