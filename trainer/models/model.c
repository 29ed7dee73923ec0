/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of models, shared by all threads under a lock. */
#include "config.h"
#include "trainer/models/model.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/hash.h"
#include "src/mem.h"
#include "trainer/models/description.h"
#include "trainer/ops/ops.h"

#define MAX_BASE 1024
#define MAX_DEPTH 8
#define MAX_CHANNELS 64
#define MAX_CLASSES 250
#define MAX_SIDE 65536

struct model_entry {
    struct model model;
    struct description *description; /* shared by the variants */
    const char *source;
    struct model_entry *next;
};

/* The files of templates/models/. */
static const char *const builtin[] = {
#include "trainer/models/builtin.inc"
};
#define NBUILTIN (sizeof builtin / sizeof *builtin)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list */
static struct model_entry *first, **end = &first; /* entries are never removed */
static bool loaded;

/* Appends an entry, which owns name and keeps d. text is NULL for built-in models. Returns NULL if
 * out of memory, with name freed. */
static struct model_entry *add_entry(char *name, struct description *d, const char *variant,
                               const char *text, const char *source)
{
    struct model_entry *new = calloc(1, sizeof *new);

    if (!new || !name) {
        free(new);
        free(name);
        return NULL;
    }
    new->description = d;
    new->source = source;
    new->model = (struct model){name, variant ? variant : description_name(d),
                                description_classifies(d), description_preset(d, variant, "base"),
                                description_preset(d, variant, "depth"), text, d, variant};
    *end = new;
    end = &new->next;
    return new;
}

/* Errors are ignored, as tests decode all built-in descriptions. */
static void load_builtin(void)
{
    for (size_t i = 0; i < NBUILTIN && !loaded; i++) {
        struct err e;
        struct description *d = description_decode(builtin[i], "built in", &e);
        const char *variant = d ? description_variant(d, 0) : NULL;

        if (d && !variant)
            add_entry(strdup(description_name(d)), d, NULL, NULL, builtin[i]);
        for (size_t k = 0; d && (variant = description_variant(d, k)); k++)
            add_entry(strdup(variant), d, variant, NULL, builtin[i]);
    }
    loaded = true;
}

static struct model_entry *find_entry(const char *name)
{
    load_builtin();
    for (struct model_entry *entry = first; entry; entry = entry->next)
        if (strcmp(entry->model.name, name) == 0)
            return entry;
    return NULL;
}

const struct model *model_find(const char *name)
{
    pthread_mutex_lock(&lock);
    const struct model_entry *entry = find_entry(name);
    pthread_mutex_unlock(&lock);
    return entry ? &entry->model : NULL;
}

const struct model *model_builtin(size_t i)
{
    const struct model_entry *entry;

    pthread_mutex_lock(&lock);
    load_builtin();
    for (entry = first; entry && (entry->model.text || i > 0); entry = entry->next)
        i -= !entry->model.text;
    pthread_mutex_unlock(&lock);
    return entry ? &entry->model : NULL;
}

const char *model_source(const struct model *model)
{
    const char *source = model->text;

    pthread_mutex_lock(&lock);
    for (const struct model_entry *entry = first; entry; entry = entry->next)
        if (&entry->model == model)
            source = entry->source;
    pthread_mutex_unlock(&lock);
    return source;
}

/* Called with the lock held. name NULL: the entry is named after its title and the hash of the
 * text. */
static struct model_entry *decode_entry(const char *name, const char *text, const char *where,
                                  struct err *e)
{
    struct description *d = description_decode(text, where, e);
    char *copy = strdup(text), *key = NULL;
    uint64_t hash = hash_bytes(HASH_BEGIN, text, strlen(text));
    struct model_entry *entry = NULL;

    if (d && !name && asprintf(&key, "%s@%016" PRIx64, description_name(d), hash) < 0)
        key = NULL;
    if (d && name)
        key = strdup(name);
    if (key && !name && (entry = find_entry(key))) {
        free(key);
        free(copy);
        description_destroy(d);
        return entry;
    }
    if (d && copy && key)
        entry = add_entry(key, d, NULL, copy, copy);
    if (d && !entry)
        mem_fail(e);
    if (!entry) {
        free(copy);
        description_destroy(d);
    }
    return entry;
}

const struct model *model_decode(const char *text, const char *where, struct err *e)
{
    pthread_mutex_lock(&lock);
    const struct model_entry *entry = decode_entry(NULL, text, where, e);
    pthread_mutex_unlock(&lock);
    return entry ? &entry->model : NULL;
}

static struct model_entry *read_model(const char *path, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, DESCRIPTION_MAX, &n, e);
    struct model_entry *entry = NULL;

    if (!text) {
        e->code = ERR_CONFIG;
        return NULL;
    }
    if (strlen(text) != n)
        err_set(e, ERR_CONFIG, "%s: this file is binary, but a model is YAML (unet-train model "
                "--print unet shows one)", path);
    else
        entry = decode_entry(path, text, path, e);
    free(text);
    return entry;
}

static void set_unknown(const char *name, struct err *e)
{
    char list[1024] = "";

    for (const struct model_entry *entry = first; entry; entry = entry->next)
        if (!entry->model.text)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     entry->model.name);
    err_set(e, ERR_CONFIG, "there is no model \"%s\"; models are %s; name your own file *.yaml",
            name, list);
}

const struct model *model_open(const char *name, struct err *e)
{
    const char *dot = strrchr(name, '.');
    bool is_path = strchr(name, '/') || (dot && strcmp(dot, ".yaml") == 0);

    pthread_mutex_lock(&lock);
    struct model_entry *entry = find_entry(name);
    if (!entry && is_path)
        entry = read_model(name, e);
    else if (!entry)
        set_unknown(name, e);
    pthread_mutex_unlock(&lock);
    return entry ? &entry->model : NULL;
}

static int check_range(const struct model *m, const char *what, int value, int min, int max,
                       struct err *e)
{
    if (value < min || value > max)
        return err_set(e, ERR_CONFIG, "%s: %s is %d, but must be from %d to %d", m->title, what,
                       value, min, max);
    return 0;
}

static int check_side(const struct model *m, const char *what, int value, int step, struct err *e)
{
    int below = value / step * step;

    if (value < 1 || value > MAX_SIDE || value % step != 0)
        return err_set(e, ERR_CONFIG, "%s: the %s is %d, but must be a multiple of %d, for example %d",
                       m->title, what, value, step, below < step ? step : below);
    return 0;
}

int model_sides(const struct model *model, const struct network_config *config, int *multiple,
                struct err *e)
{
    return description_sides(model->description, model->variant, config, multiple, e);
}

int model_check(const struct model *m, const struct network_config *c, struct err *e)
{
    int step, least = m->classifies ? 2 : 1;

    if (check_range(m, "base", c->base, 0, MAX_BASE, e) ||
        check_range(m, "depth", c->depth, 0, MAX_DEPTH, e) ||
        check_range(m, "channels", c->channels, 1, MAX_CHANNELS, e) ||
        check_range(m, "the number of classes", c->classes ? c->classes : 1, least, MAX_CLASSES,
                    e) ||
        model_sides(m, c, &step, e) || check_side(m, "height", c->height, step, e) ||
        check_side(m, "width", c->width, step, e))
        return -1;
    if (m->classifies && c->loss != LOSS_CE)
        return err_set(e, ERR_CONFIG, "%s: Dice is a loss for masks; use train.loss: ce", m->title);
    return 0;
}

const float *model_dice_weights(const struct network_config *config)
{
    return config->weighs_dice && config->classes > 1 ? config->class_weights : NULL;
}

int model_build(const struct model *model, struct graph *g, const struct network_config *config,
                int batch, struct err *e)
{
    if (description_build(model->description, model->variant, g, config, batch, e) < 0)
        return -1;
    if (g->training || g->measures)
        return loss_append(g, config->loss, config->class_weights, model_dice_weights(config),
                           g->logits, g->target, e);
    g->logits->pinned = true;
    return 0;
}
