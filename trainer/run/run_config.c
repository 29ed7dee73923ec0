/* SPDX-License-Identifier: BSD-3-Clause */
/* Each key is a row of the table of settings (settings.def). Checks that concern several settings
 * are here. */
#include "src/base.h"
#include "trainer/run/setup.h"

#include <math.h>

#include "src/format/schema.h"
#include "src/settings/settings.h"
#include "trainer/json/cjson.h"
#include "trainer/models/model.h"

#define SIZE_LIMIT (1 << 20)

static const char *const sections[] = {"data", "augment", "model", "train", "layout", "limit"};
#define NSECTIONS (sizeof sections / sizeof *sections)

int run_config_init(struct settings *c, struct err *e)
{
    *c = (struct settings){0};
    if (settings_create(settings_of_run, c, e) == 0)
        return 0;
    run_config_destroy(c);
    return -1;
}

void run_config_destroy(struct settings *c)
{
    if (c)
        settings_destroy(settings_of_run, c);
}

int run_config_set(struct settings *c, const char *key, const char *text, struct err *e)
{
    const struct setting *s = setting_find(settings_of_run, key);

    if (!s && setting_check_gone(key, text, e) > 0)
        return 0;
    if (!s)
        return setting_refuse(settings_of_run, key, e);
    return setting_set(s, text, c, e) ? err_prefix(e, "%s", key) : 0;
}

static int set_word(struct settings *c, const char *word, struct err *e)
{
    const char *equals = strchr(word, '=');
    char key[SETTING_PATH_SIZE];

    if (!equals)
        return err_set(e, ERR_USAGE, "--set %s: KEY=VALUE is expected", word);
    snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
    if (strncmp(key, "layout.", 7) == 0)
        return err_set(e, ERR_USAGE, "--set %s: use --gpus and --strategy instead", word);
    return run_config_set(c, key, equals + 1, e) ? err_prefix(e, "--set") : 0;
}

int run_config_set_words(struct settings *c, const struct cli_list *words, struct err *e)
{
    for (size_t i = 0; i < words->count; i++)
        if (set_word(c, words->values[i], e))
            return -1;
    return 0;
}

/* Returns the text of a JSON value of the setting's type, in number or in the item; NULL with an
 * error. */
static const char *text_of(const struct setting *s, const cJSON *item, char number[40],
                           struct err *e)
{
    switch (s->type) {
    case SETTING_INT:
    case SETTING_REAL:
        if (cJSON_IsNumber(item)) {
            snprintf(number, 40, "%.17g", item->valuedouble);
            return number;
        }
        err_set(e, ERR_CONFIG, "%s: must be a number", s->path);
        return NULL;
    case SETTING_SWITCH:
        if (cJSON_IsBool(item))
            return cJSON_IsTrue(item) ? "true" : "false";
        err_set(e, ERR_CONFIG, "%s: must be true or false", s->path);
        return NULL;
    default:
        if (!cJSON_IsString(item))
            err_set(e, ERR_CONFIG, "%s: must be a string", s->path);
        return cJSON_GetStringValue(item);
    }
}

static bool is_section(const char *name)
{
    for (size_t i = 0; i < NSECTIONS; i++)
        if (strcmp(sections[i], name) == 0)
            return true;
    return false;
}

static int check_gone(const struct setting *s, const cJSON *item, struct err *e)
{
    char number[40];
    const char *text = text_of(s, item, number, e);

    if (!text || setting_check_gone(s->path, text, e) > 0)
        return text ? 0 : -1;
    e->code = ERR_CONFIG;
    return -1;
}

/* Sets all members of an object, which must be known and not repeated; at the top level ("") skips
 * the sections and "schema". seen: by row of the table. */
static int read_section(struct settings *c, const char *section, const cJSON *object, bool *seen,
                       struct err *e)
{
    char path[SETTING_PATH_SIZE], number[40];
    const cJSON *item;

    cJSON_ArrayForEach(item, object) {
        snprintf(path, sizeof path, "%s%s%s", section, *section ? "." : "", item->string);
        const struct setting *s = setting_find(settings_of_run, path);
        if (!*section && (is_section(item->string) || strcmp(item->string, "schema") == 0))
            continue;
        if (!s && (s = setting_find(settings_gone, path))) {
            if (check_gone(s, item, e))
                return -1;
            continue;
        }
        if (!s || s->of_split) {
            struct err why;
            setting_refuse(settings_of_run, path, &why);
            return err_set(e, ERR_CONFIG, "%s; this is unet-train %s: if a later unetctl wrote the "
                           "file, install both from one version", why.text, PACKAGE_VERSION);
        }
        if (seen[s - settings_of_run])
            return err_set(e, ERR_CONFIG, "%s: given twice", path);
        seen[s - settings_of_run] = true;
        const char *text = text_of(s, item, number, e);
        if (!text)
            return -1;
        if (setting_set(s, text, c, e)) {
            e->code = ERR_CONFIG;
            return err_prefix(e, "%s", path);
        }
    }
    return 0;
}

static int read_run_json(struct settings *c, const cJSON *root, struct err *e)
{
    bool seen[SETTINGS_MAX] = {false};

    c->train.global_batch = 0; /* a run.json of an earlier version does not have it */
    if (schema_check(cjson_number(root, "schema"), ERR_CONFIG, e))
        return -1;
    if (read_section(c, "", root, seen, e))
        return -1;
    for (size_t i = 0; i < NSECTIONS; i++) {
        const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, sections[i]);
        if (object && !cJSON_IsObject(object))
            return err_set(e, ERR_CONFIG, "%s: must be an object", sections[i]);
        if (object && read_section(c, sections[i], object, seen, e))
            return -1;
    }
    settings_take_patch(c);
    for (const struct setting *s = settings_of_run; s->path; s++) {
        if (seen[s - settings_of_run])
            continue;
        if (s->expected)
            return err_set(e, ERR_CONFIG, "%s: missing", s->path);
        if (s->absent && setting_set(s, s->absent, c, e))
            return -1;
    }
    return 0;
}

int run_config_read(struct settings *c, const char *path, struct err *e)
{
    cJSON *root = cjson_read(path, SIZE_LIMIT, ERR_CONFIG, e);

    if (!root)
        return -1;
    int rc = read_run_json(c, root, e) || run_config_check(c, e);
    cJSON_Delete(root);
    return rc ? err_prefix(e, "%s", path) : 0;
}

static int check_layout(const struct settings *c, struct err *e)
{
    bool mirrored = strcmp(c->layout.strategy, "mirrored") == 0;

    if (c->layout.tasks * (long long)c->layout.gpus_per_task != c->layout.gpus)
        return err_set(e, ERR_CONFIG,
                       "layout: %d tasks with %d GPUs each are not the %d GPUs of the run",
                       c->layout.tasks, c->layout.gpus_per_task, c->layout.gpus);
    if (mirrored && c->layout.tasks != 1)
        return err_set(e, ERR_CONFIG, "layout.tasks: mirrored is one task on one node, not %d",
                       c->layout.tasks);
    if (!mirrored && c->layout.gpus_per_task != 1)
        return err_set(e, ERR_CONFIG,
                       "layout.gpus_per_task: multi-worker is one task per GPU, not one for %d",
                       c->layout.gpus_per_task);
    if (c->layout.nodes > c->layout.tasks)
        return err_set(e, ERR_CONFIG, "layout.nodes: %d nodes for %d tasks", c->layout.nodes,
                       c->layout.tasks);
    if ((long long)c->layout.nodes * c->layout.tasks_per_node < c->layout.tasks)
        return err_set(e, ERR_CONFIG, "layout: %d tasks do not fit on %d nodes with %d tasks each",
                       c->layout.tasks, c->layout.nodes, c->layout.tasks_per_node);
    return 0;
}

int run_config_step_batch(const struct settings *c)
{
    size_t gpus = (size_t)c->layout.gpus;

    return (int)((run_config_step_images(c) + gpus - 1) / gpus);
}

size_t run_config_step_images(const struct settings *c)
{
    if (c->train.global_batch)
        return (size_t)c->train.global_batch;
    return (size_t)c->train.batch_per_gpu * (size_t)c->train.accumulate * (size_t)c->layout.gpus;
}

int run_config_check(const struct settings *c, struct err *e)
{
    struct network_config network = {.base = c->model.base, .depth = c->model.depth};
    int side;

    if (strcmp(c->engine, "embedded") != 0)
        return err_set(e, ERR_CONFIG, "engine: unet-train is the embedded engine, not %s",
                       c->engine);
    if (!c->data.dir || !*c->data.dir)
        return err_set(e, ERR_CONFIG, "data.dir: missing");
    if (c->data.height < 1 || c->data.width < 1)
        return err_set(e, ERR_CONFIG, "data.height, data.width: missing");
    const struct model *model = model_open(c->model.name, e);
    if (!model)
        return err_prefix(e, "model.name");
    if (model_sides(model, &network, &side, e))
        return -1;
    if (c->data.height % side || c->data.width % side)
        return err_set(e, ERR_CONFIG,
                       "data.height, data.width: %dx%d: %s needs multiples of %d; the nearest is "
                       "%dx%d", c->data.height, c->data.width, model->title, side,
                       (c->data.height + side - 1) / side * side,
                       (c->data.width + side - 1) / side * side);
    if (c->augment.six && c->data.repeat % 6 != 0)
        return err_set(e, ERR_CONFIG,
                       "augment.six: data.repeat is %d, but must be a multiple of 6, so that "
                       "each of the six views is used equally often",
                       c->data.repeat);
    return settings_check(c, e) || check_layout(c, e) ||
                   settings_check_comm(c, c->layout.gpus, c->layout.tasks, e)
               ? -1
               : 0;
}

uint64_t run_config_hash(const struct settings *c)
{
    uint64_t h = HASH_BEGIN;

    for (const struct setting *s = settings_of_run; s->path; s++) {
        struct buf text = {0};
        setting_format(s, c, &text);
        h = hash_text(hash_text(h, s->path), text.data ? text.data : "");
        buf_destroy(&text);
    }
    return h;
}
