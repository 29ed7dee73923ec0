/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/run_config.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/cli.h"
#include "src/run/schedule.h"
#include "src/terms.h"
#include "trainer/core/model.h"
#include "trainer/run/goal.h"

#define SIZE_LIMIT (1 << 20)
#define MAX_SIDE 65535

enum key_type { KEY_STRING, KEY_WORD, KEY_INT, KEY_DOUBLE, KEY_BOOL };

struct key {
    const char *section, *name; /* section "": top level */
    enum key_type type;
    size_t offset;
    const char *initial; /* as text; NULL: must be set */
    double min, max;
    const char *const *words;
    unsigned flags;
};

enum {
    OPEN = 1,    /* may change when a run is continued: who it is, where, with what means */
    OPTIONAL = 2, /* may be absent from run.json, for its default */
    ADJUSTABLE = 4 /* another run that continues this one may have another value */
};

static const char *const engines[] = {"embedded", NULL};
static const char *const strategies[] = {"mirrored", "multi-worker", NULL};

#define AT(member) offsetof(struct run_config, member)
static const struct key keys[] = {
    {"", "study", KEY_STRING, AT(study), "by-hand", 0, 0, NULL, OPEN},
    {"", "study_id", KEY_STRING, AT(study_id), "", 0, 0, NULL, OPEN},
    {"", "run", KEY_STRING, AT(run), "by-hand", 0, 0, NULL, OPEN},
    {"", "engine", KEY_WORD, AT(engine), "embedded", 0, 0, engines, OPEN},
    {"", "seed", KEY_INT, AT(seed), "1", 0, INT_MAX, NULL, 0},
    {"data", "dir", KEY_STRING, AT(data.dir), NULL, 0, 0, NULL, OPEN},
    {"data", "split", KEY_STRING, AT(data.split), "", 0, 0, NULL, OPEN},
    {"data", "height", KEY_INT, AT(data.height), NULL, 1, MAX_SIDE, NULL, 0},
    {"data", "width", KEY_INT, AT(data.width), NULL, 1, MAX_SIDE, NULL, 0},
    {"data", "channels", KEY_INT, AT(data.channels), "1", 1, 64, NULL, 0},
    {"data", "repeat", KEY_INT, AT(data.repeat), "1", 1, 1000000, NULL, 0},
    {"data", "soft_masks", KEY_BOOL, AT(data.soft_masks), "false", 0, 0, NULL, 0},
    {"data", "classes", KEY_INT, AT(data.classes), "1", 1, RUN_CONFIG_CLASSES, NULL, OPTIONAL},
    {"data", "ignore", KEY_STRING, AT(data.ignore), "", 0, 0, NULL, OPTIONAL},
    {"data", "class_file", KEY_STRING, AT(data.class_file), "", 0, 0, NULL, OPTIONAL},
    {"data", "cache", KEY_STRING, AT(data.cache), "auto", 0, 0, NULL, OPEN | OPTIONAL},
    {"data", "workers", KEY_INT, AT(data.workers), "2", 0, 256, NULL, OPEN | OPTIONAL},
    {"data", "files", KEY_WORD, AT(data.files), "all", 0, 0, terms_files, OPTIONAL},
    {"data", "remainder", KEY_WORD, AT(data.remainder), "keep", 0, 0, terms_remainders, 0},
    {"augment", "hflip", KEY_BOOL, AT(augment.hflip), "false", 0, 0, NULL, OPTIONAL},
    {"augment", "vflip", KEY_BOOL, AT(augment.vflip), "false", 0, 0, NULL, OPTIONAL},
    {"augment", "rot90", KEY_BOOL, AT(augment.rot90), "false", 0, 0, NULL, OPTIONAL},
    {"augment", "six", KEY_BOOL, AT(augment.six), "false", 0, 0, NULL, OPTIONAL},
    {"augment", "brightness", KEY_DOUBLE, AT(augment.brightness), "0", 0, 1, NULL, OPTIONAL},
    {"augment", "contrast", KEY_DOUBLE, AT(augment.contrast), "0", 0, 1, NULL, OPTIONAL},
    {"augment", "shift", KEY_INT, AT(augment.shift), "0", 0, 1000, NULL, OPTIONAL},
    {"augment", "crop", KEY_DOUBLE, AT(augment.crop), "0", 0, 0.9, NULL, OPTIONAL},
    {"augment", "elastic", KEY_DOUBLE, AT(augment.elastic), "0", 0, 1000, NULL, OPTIONAL},
    {"model", "name", KEY_STRING, AT(model.name), "unet", 0, 0, NULL, 0},
    {"model", "base", KEY_INT, AT(model.base), "0", 0, 1024, NULL, 0},
    {"model", "depth", KEY_INT, AT(model.depth), "0", 0, 8, NULL, 0},
    {"model", "batch_norm", KEY_WORD, AT(model.batch_norm), "sync", 0, 0, terms_batch_norms, 0},
    {"train", "epochs", KEY_INT, AT(train.epochs), "200", 1, 1000000, NULL, ADJUSTABLE},
    {"train", "batch_per_gpu", KEY_INT, AT(train.batch_per_gpu), "16", 1, 65536, NULL, OPEN},
    {"train", "global_batch", KEY_INT, AT(train.global_batch), "0", 0, 1 << 24, NULL, OPEN | OPTIONAL},
    {"train", "rate_gpus", KEY_INT, AT(train.rate_gpus), "0", 0, 100000, NULL, OPEN | OPTIONAL},
    {"train", "loss", KEY_WORD, AT(train.loss), "ce", 0, 0, terms_losses, OPTIONAL},
    {"train", "class_weights", KEY_STRING, AT(train.class_weights), "", 0, 0, NULL, OPTIONAL},
    {"train", "optimizer", KEY_WORD, AT(train.optimizer), "adam", 0, 0, terms_optimizers, 0},
    {"train", "momentum", KEY_DOUBLE, AT(train.momentum), "0.9", 0, 0.999999, NULL, OPTIONAL},
    {"train", "nesterov", KEY_BOOL, AT(train.nesterov), "false", 0, 0, NULL, OPTIONAL},
    {"train", "weight_decay", KEY_DOUBLE, AT(train.weight_decay), "0", 0, 1, NULL, OPTIONAL},
    {"train", "lr", KEY_DOUBLE, AT(train.lr), "0.001", 1e-12, 1e12, NULL, ADJUSTABLE},
    {"train", "lr_scaling", KEY_WORD, AT(train.lr_scaling), "linear", 0, 0,
     terms_lr_scalings, ADJUSTABLE},
    {"train", "lr_schedule", KEY_WORD, AT(train.lr_schedule), "step", 0, 0,
     terms_lr_schedules, ADJUSTABLE},
    {"train", "lr_steps", KEY_STRING, AT(train.lr_steps), "", 0, 0, NULL, OPTIONAL | ADJUSTABLE},
    {"train", "lr_plateau", KEY_STRING, AT(train.lr_plateau), "", 0, 0,
     NULL, OPTIONAL | ADJUSTABLE},
    {"train", "warmup_epochs", KEY_INT, AT(train.warmup_epochs), "0", 0, 1000000,
     NULL, OPTIONAL | ADJUSTABLE},
    {"train", "warmup", KEY_WORD, AT(train.warmup), "batch", 0, 0,
     terms_warmups, OPTIONAL | ADJUSTABLE},
    {"train", "momentum_correction", KEY_BOOL, AT(train.momentum_correction), "true", 0, 0, NULL,
     OPTIONAL},
    {"train", "accumulate", KEY_INT, AT(train.accumulate), "1", 1, 4096, NULL, OPEN | OPTIONAL},
    {"train", "clip_norm", KEY_DOUBLE, AT(train.clip_norm), "0", 0, 1e12, NULL, OPTIONAL},
    {"train", "eval_epochs", KEY_INT, AT(train.eval_epochs), "0", 0, 1000000,
     NULL, OPTIONAL | ADJUSTABLE},
    {"train", "until", KEY_STRING, AT(train.until), "", 0, 0, NULL, OPTIONAL | ADJUSTABLE},
    {"train", "patience", KEY_INT, AT(train.patience), "0", 0, 1000000,
     NULL, OPTIONAL | ADJUSTABLE},
    {"train", "keep", KEY_WORD, AT(train.keep), "last", 0, 0, terms_keeps, OPTIONAL},
    {"train", "deterministic", KEY_BOOL, AT(train.deterministic), "false", 0, 0, NULL, OPTIONAL},
    {"train", "tensorboard", KEY_BOOL, AT(train.tensorboard), "false", 0, 0, NULL,
     OPEN | OPTIONAL},
    {"train", "trace", KEY_BOOL, AT(train.trace), "false", 0, 0, NULL, OPEN | OPTIONAL},
    {"train", "backend", KEY_WORD, AT(train.backend), "auto", 0, 0, terms_backends, OPEN},
    {"train", "dtype", KEY_WORD, AT(train.dtype), "f32", 0, 0, terms_dtypes, OPTIONAL},
    {"train", "comm", KEY_WORD, AT(train.comm), "auto", 0, 0, terms_comms, OPEN},
    {"train", "threads", KEY_INT, AT(train.threads), "0", 0, 4096, NULL, OPEN},
    {"train", "allreduce", KEY_WORD, AT(train.allreduce), "bucketed", 0, 0, terms_allreduces,
     OPEN | OPTIONAL},
    {"train", "bucket_mib", KEY_INT, AT(train.bucket_mib), "1", 0, 4096, NULL, OPEN},
    {"train", "fusion_mib", KEY_INT, AT(train.fusion_mib), "128", 1, 4096, NULL, OPEN | OPTIONAL},
    {"train", "cycle_ms", KEY_DOUBLE, AT(train.cycle_ms), "1", 0, 1000, NULL, OPEN | OPTIONAL},
    {"train", "compress", KEY_WORD, AT(train.compress), "none", 0, 0, terms_compressions,
     OPEN | OPTIONAL},
    {"train", "checkpoint_epochs", KEY_INT, AT(train.checkpoint_epochs), "0", 0, 1000000, NULL,
     OPEN | OPTIONAL},
    {"train", "checkpoint_s", KEY_DOUBLE, AT(train.checkpoint_s), "600", 0, 1e9, NULL,
     OPEN | OPTIONAL},
    {"train", "timeout_s", KEY_INT, AT(train.timeout_s), "300", 1, 1000000, NULL, OPEN},
    {"layout", "gpus", KEY_INT, AT(layout.gpus), "1", 1, 100000, NULL, OPEN},
    {"layout", "nodes", KEY_INT, AT(layout.nodes), "1", 1, 100000, NULL, OPEN},
    {"layout", "tasks", KEY_INT, AT(layout.tasks), "1", 1, 100000, NULL, OPEN},
    {"layout", "tasks_per_node", KEY_INT, AT(layout.tasks_per_node), "1", 1, 100000, NULL, OPEN},
    {"layout", "gpus_per_task", KEY_INT, AT(layout.gpus_per_task), "1", 1, 1024, NULL, OPEN},
    {"layout", "strategy", KEY_WORD, AT(layout.strategy), "mirrored", 0, 0, strategies, OPEN},
};
#undef AT
#define NKEYS (sizeof keys / sizeof *keys)

static const char *const sections[] = {"data", "augment", "model", "train", "layout"};
#define NSECTIONS (sizeof sections / sizeof *sections)

static void *member(struct run_config *c, const struct key *k)
{
    return (char *)c + k->offset;
}

static void path_of(const struct key *k, char dst[64])
{
    snprintf(dst, 64, "%s%s%s", k->section, *k->section ? "." : "", k->name);
}

static int set_string(struct run_config *c, const struct key *k, const char *text, struct err *e)
{
    char *copy = strdup(text), **dst = member(c, k);

    if (!copy)
        return err_set(e, ERR_INTERNAL, "out of memory");
    free(*dst);
    *dst = copy;
    return 0;
}

static int set_word(struct run_config *c, const struct key *k, const char *text, int code,
                    struct err *e)
{
    char path[64], list[256] = "";

    for (const char *const *w = k->words; *w; w++) {
        if (strcmp(*w, text) == 0) {
            *(const char **)member(c, k) = *w;
            return 0;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", *w);
    }
    path_of(k, path);
    return err_set(e, code, "%s: '%s' is not one of: %s", path, text, list);
}

static int set_number(struct run_config *c, const struct key *k, double v, int code, struct err *e)
{
    char path[64];

    path_of(k, path);
    if (k->type == KEY_INT && v != floor(v))
        return err_set(e, code, "%s: %g is not a whole number", path, v);
    if (!(v >= k->min && v <= k->max))
        return err_set(e, code, "%s: %.17g is not from %.10g to %.10g", path, v, k->min, k->max);
    if (k->type == KEY_INT)
        *(int *)member(c, k) = (int)v;
    else
        *(double *)member(c, k) = v;
    return 0;
}

static int set_text(struct run_config *c, const struct key *k, const char *text, struct err *e)
{
    char path[64], *end;

    path_of(k, path);
    switch (k->type) {
    case KEY_STRING:
        return set_string(c, k, text, e);
    case KEY_WORD:
        return set_word(c, k, text, ERR_USAGE, e);
    case KEY_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return err_set(e, ERR_USAGE, "%s: '%s' is neither true nor false", path, text);
        *(bool *)member(c, k) = text[0] == 't';
        return 0;
    case KEY_INT:
    case KEY_DOUBLE:
        errno = 0;
        double v = strtod(text, &end);
        if (end == text || *end || !isfinite(v))
            return err_set(e, ERR_USAGE, "%s: '%s' is not a number", path, text);
        return set_number(c, k, v, ERR_USAGE, e);
    }
    return err_set(e, ERR_INTERNAL, "%s: key of unknown type", path);
}

static const struct key *find_key(const char *section, const char *name)
{
    for (size_t i = 0; i < NKEYS; i++)
        if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

int run_config_init(struct run_config *c, struct err *e)
{
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < NKEYS; i++)
        if (keys[i].initial && set_text(c, &keys[i], keys[i].initial, e)) {
            run_config_destroy(c);
            return -1;
        }
    return 0;
}

void run_config_destroy(struct run_config *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < NKEYS; i++)
        if (keys[i].type == KEY_STRING) {
            char **text = member(c, &keys[i]);
            free(*text);
            *text = NULL;
        }
}

int run_config_set(struct run_config *c, const char *key, const char *text, struct err *e)
{
    char section[64];
    const char *dot = strchr(key, '.');

    snprintf(section, sizeof section, "%.*s", dot ? (int)(dot - key) : 0, key);
    const struct key *k = find_key(section, dot ? dot + 1 : key);
    if (!k)
        return err_set(e, ERR_INTERNAL, "%s: no such key of a run", key);
    return set_text(c, k, text, e);
}

int run_config_augment(const char *list, struct augment_config *dst, struct err *e)
{
    struct run_config c = {.augment = *dst};
    char copy[256], key[64], *rest = copy, *word;

    snprintf(copy, sizeof copy, "%s", list);
    while ((word = strsep(&rest, ","))) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        snprintf(key, sizeof key, "augment.%s", word);
        if (run_config_set(&c, key, value ? value : "true", e)) {
            e->code = ERR_USAGE; /* an unknown key too */
            return err_prefix(e, "--augment");
        }
    }
    *dst = c.augment;
    return 0;
}

static int set_json(struct run_config *c, const struct key *k, const cJSON *item, struct err *e)
{
    char path[64];

    path_of(k, path);
    switch (k->type) {
    case KEY_STRING:
        if (!cJSON_IsString(item))
            return err_set(e, ERR_CONFIG, "%s: must be a string", path);
        return set_string(c, k, item->valuestring, e);
    case KEY_WORD:
        if (!cJSON_IsString(item))
            return err_set(e, ERR_CONFIG, "%s: must be a string", path);
        return set_word(c, k, item->valuestring, ERR_CONFIG, e);
    case KEY_BOOL:
        if (!cJSON_IsBool(item))
            return err_set(e, ERR_CONFIG, "%s: must be true or false", path);
        *(bool *)member(c, k) = cJSON_IsTrue(item);
        return 0;
    case KEY_INT:
    case KEY_DOUBLE:
        if (!cJSON_IsNumber(item))
            return err_set(e, ERR_CONFIG, "%s: must be a number", path);
        return set_number(c, k, item->valuedouble, ERR_CONFIG, e);
    }
    return err_set(e, ERR_INTERNAL, "%s: key of unknown type", path);
}

static bool is_section(const char *name)
{
    for (size_t i = 0; i < NSECTIONS; i++)
        if (strcmp(sections[i], name) == 0)
            return true;
    return false;
}

static int unknown_key(const char *section, const char *name, struct err *e)
{
    const char *names[NKEYS + NSECTIONS + 2];
    size_t n = 0;

    for (size_t i = 0; i < NKEYS; i++)
        if (strcmp(keys[i].section, section) == 0)
            names[n++] = keys[i].name;
    for (size_t i = 0; i < NSECTIONS && !*section; i++)
        names[n++] = sections[i];
    names[n] = NULL;
    const char *near = cli_nearest(name, names);
    return err_set(e, ERR_CONFIG, "%s%s%s: unknown key%s%s%s", section, *section ? "." : "", name,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* All members of one object, each once, each known. seen: by index in keys. */
static int read_object(struct run_config *c, const char *section, const cJSON *object, bool *seen,
                       struct err *e)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, object) {
        const struct key *k = find_key(section, item->string);
        if (!k && !*section && (is_section(item->string) || strcmp(item->string, "schema") == 0))
            continue;
        if (!k)
            return unknown_key(section, item->string, e);
        if (seen[k - keys])
            return err_set(e, ERR_CONFIG, "%s%s%s: given twice", section, *section ? "." : "",
                           item->string);
        seen[k - keys] = true;
        if (set_json(c, k, item, e))
            return -1;
    }
    return 0;
}

static int read_document(struct run_config *c, const cJSON *root, struct err *e)
{
    bool seen[NKEYS] = {false};
    char path[64];

    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    if (!cJSON_IsNumber(schema) || schema->valuedouble != 1)
        return err_set(e, ERR_CONFIG, "schema: must be 1, the only one this unet-train knows");
    if (read_object(c, "", root, seen, e))
        return -1;
    for (size_t i = 0; i < NSECTIONS; i++) {
        const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, sections[i]);
        if (object && !cJSON_IsObject(object))
            return err_set(e, ERR_CONFIG, "%s: must be an object", sections[i]);
        if (object && read_object(c, sections[i], object, seen, e))
            return -1;
    }
    for (size_t i = 0; i < NKEYS; i++) {
        path_of(&keys[i], path);
        if (!seen[i] && !(keys[i].flags & OPTIONAL))
            return err_set(e, ERR_CONFIG, "%s: missing", path);
    }
    return 0;
}

int run_config_read(struct run_config *c, const char *path, struct err *e)
{
    size_t n;
    const char *end = NULL;
    int rc = -1;
    char *text = atomicfile_read(path, SIZE_LIMIT, &n, e);

    if (!text) {
        e->code = ERR_CONFIG;
        return -1;
    }
    cJSON *root = cJSON_ParseWithLengthOpts(text, n + 1, &end, true);
    if (!root)
        err_set(e, ERR_CONFIG, "no JSON from byte %zu on", end ? (size_t)(end - text) : 0);
    else if (!cJSON_IsObject(root))
        err_set(e, ERR_CONFIG, "must hold an object");
    else
        rc = read_document(c, root, e);
    if (rc == 0)
        rc = run_config_check(c, e);
    cJSON_Delete(root);
    free(text);
    return rc ? err_prefix(e, "%s", path) : 0;
}

static int check_masks(const struct run_config *c, struct err *e)
{
    if (c->augment.six && c->data.height != c->data.width)
        return err_set(e, ERR_CONFIG, "augment.six: quarter turns need square images, and they are "
                       "%dx%d (data.height, data.width)", c->data.height, c->data.width);
    if (c->augment.six && c->data.repeat % 6 != 0)
        return err_set(e, ERR_CONFIG, "augment.six: data.repeat %d is no multiple of 6: some of the six "
                       "would be seen more often", c->data.repeat);
    if (c->data.soft_masks && (c->data.classes > 1 || *c->data.ignore || *c->data.class_file))
        return err_set(e, ERR_CONFIG, "data.soft_masks: grey values have no meaning where values "
                       "stand for classes (data.classes, data.ignore, data.class_file)");
    return 0;
}

static int check_layout(const struct run_config *c, struct err *e)
{
    bool mirrored = strcmp(c->layout.strategy, "mirrored") == 0;

    if (c->layout.tasks * (long long)c->layout.gpus_per_task != c->layout.gpus)
        return err_set(e, ERR_CONFIG,
                       "layout: %d tasks with %d GPUs each are not the %d GPUs of the run",
                       c->layout.tasks, c->layout.gpus_per_task, c->layout.gpus);
    if (mirrored && c->layout.tasks != 1)
        return err_set(e, ERR_CONFIG, "layout.tasks: mirrored is one process on one node, not %d",
                       c->layout.tasks);
    if (!mirrored && c->layout.gpus_per_task != 1)
        return err_set(e, ERR_CONFIG,
                       "layout.gpus_per_task: multi-worker is one process per GPU, not one for %d",
                       c->layout.gpus_per_task);
    if (c->layout.nodes > c->layout.tasks)
        return err_set(e, ERR_CONFIG, "layout.nodes: %d nodes for %d tasks", c->layout.nodes,
                       c->layout.tasks);
    if ((long long)c->layout.nodes * c->layout.tasks_per_node < c->layout.tasks)
        return err_set(e, ERR_CONFIG, "layout: %d tasks do not fit on %d nodes with %d tasks each",
                       c->layout.tasks, c->layout.nodes, c->layout.tasks_per_node);
    return 0;
}

static int check_comm(const struct run_config *c, struct err *e)
{
    const char *comm = c->train.comm;
    bool one = c->layout.gpus == 1;

    if ((strcmp(comm, "self") == 0 && !one) ||
        (strcmp(comm, "thread") == 0 && c->layout.tasks != 1) ||
        (strcmp(comm, "mpi") == 0 && c->layout.gpus_per_task != 1))
        return err_set(e, ERR_CONFIG,
                       "train.comm: %s cannot connect %d tasks with %d GPUs each; use auto", comm,
                       c->layout.tasks, c->layout.gpus_per_task);
    if (strcmp(comm, "nccl") == 0 && strcmp(c->train.backend, "cuda") != 0 &&
        strcmp(c->train.backend, "auto") != 0)
        return err_set(e, ERR_CONFIG, "train.comm: nccl connects GPUs (train.backend: cuda), and "
                       "the backend is %s", c->train.backend);
    return 0;
}

/* Texts that are parsed again where they are used. */
static int check_texts(const struct run_config *c, struct err *e)
{
    struct schedule schedule;
    struct goal goal;
    float weights[RUN_CONFIG_CLASSES];

    if (*c->train.lr_plateau && *c->train.lr_steps)
        return err_set(e, ERR_CONFIG, "train.lr_plateau and train.lr_steps: set only one of them");
    return run_config_class_weights(c, weights, e) < 0 ||
                   (*c->train.lr_steps && schedule_parse(&schedule, c->train.lr_steps, e)) ||
                   goal_parse(&goal, c->train.until, c->train.patience, e) ||
                   goal_parse_plateau(&goal, c->train.lr_plateau, e)
               ? -1
               : 0;
}

/* Are the sums of this backend the same on any number of threads? auto and cpu choose one so. */
static bool is_deterministic(const char *backend)
{
    static const char *const names[] = {"auto", "cpu", "ref", "cuda"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(backend, names[i]) == 0)
            return true;
    return false;
}

int run_config_step_batch(const struct run_config *c)
{
    size_t gpus = (size_t)c->layout.gpus;

    return (int)((run_config_step_images(c) + gpus - 1) / gpus);
}

size_t run_config_step_images(const struct run_config *c)
{
    if (c->train.global_batch)
        return (size_t)c->train.global_batch;
    return (size_t)c->train.batch_per_gpu * (size_t)c->train.accumulate * (size_t)c->layout.gpus;
}

int run_config_class_weights(const struct run_config *c, float dst[RUN_CONFIG_CLASSES],
                             struct err *e)
{
    int n = 0, want = c->data.classes == 1 ? 2 : c->data.classes;
    const char *text = c->train.class_weights;
    char *end;

    if (!text || !*text)
        return 0;
    for (;; text = end + 1) {
        double v = strtod(text, &end);
        if (end == text || (*end && *end != ',') || !(v >= 0 && v <= 1e6))
            return err_set(e, ERR_CONFIG, "train.class_weights: '%s' is not a list of numbers, "
                           "0 or more, such as 1,2.5", c->train.class_weights);
        if (n < RUN_CONFIG_CLASSES)
            dst[n] = (float)v;
        n++;
        if (!*end)
            break;
    }
    return n == want ? n : err_set(e, ERR_CONFIG, "train.class_weights: %d weights for %d classes%s",
                                   n, want, want == 2 && c->data.classes == 1
                                                ? " (background, foreground)" : "");
}

int run_config_check(const struct run_config *c, struct err *e)
{
    struct network_config network = {.base = c->model.base, .depth = c->model.depth};
    int side;

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
    if (c->train.deterministic && !is_deterministic(c->train.backend))
        return err_set(e, ERR_CONFIG, "train.deterministic: the sums of backend %s depend on the "
                       "number of threads; use train.backend ref, auto or cuda", c->train.backend);
    return check_masks(c, e) || check_texts(c, e) || check_layout(c, e) || check_comm(c, e) ? -1
                                                                                            : 0;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
    do {
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211); /* FNV-1a, the NUL included */
    } while (*text++);
    return h;
}

/* The value as text that says all of it; number: room for 64. */
static const char *text_of(const struct run_config *c, const struct key *k, char *number)
{
    const void *at = (const char *)c + k->offset;
    const char *s;

    switch (k->type) {
    case KEY_STRING:
    case KEY_WORD:
        s = *(const char *const *)at;
        return s ? s : "";
    case KEY_INT: snprintf(number, 64, "%d", *(const int *)at); break;
    case KEY_DOUBLE: snprintf(number, 64, "%.17g", *(const double *)at); break;
    case KEY_BOOL: return *(const bool *)at ? "true" : "false";
    }
    return number;
}

uint64_t run_config_hash(const struct run_config *c)
{
    uint64_t h = UINT64_C(14695981039346656037);
    char path[64], number[64];

    for (size_t i = 0; i < NKEYS; i++) {
        path_of(&keys[i], path);
        h = hash_text(hash_text(h, path), text_of(c, &keys[i], number));
    }
    return h;
}

bool run_config_fixed(const struct run_config *c, size_t i, char path[64], char number[64],
                      const char **text, bool *adjustable)
{
    for (size_t k = 0; k < NKEYS; k++) {
        if ((keys[k].flags & OPEN) || i-- > 0)
            continue;
        path_of(&keys[k], path);
        *text = text_of(c, &keys[k], number);
        *adjustable = keys[k].flags & ADJUSTABLE;
        return true;
    }
    return false;
}
