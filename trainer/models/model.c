/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/models/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/map.h"
#include "src/mem.h"
#include "trainer/models/description.h"
#include "trainer/ops/ops.h"

#define MAX_BASE 1024
#define MAX_DEPTH 8
#define MAX_CHANNELS 64
#define MAX_CLASSES 250
#define MAX_SIDE 65536

/* The files of templates/models/. */
static const char *const builtin[] = {
#include "trainer/models/builtin.inc"
};
#define NBUILTIN (sizeof builtin / sizeof *builtin)

static struct model *first, **end = &first; /* models are never removed */
static bool loaded;

/* Appends a model, which owns name and keeps d and text. Returns NULL if out of memory, with name
 * freed. */
static struct model *add_model(char *name, struct description *d, const char *variant,
                               const char *text, bool built_in)
{
    struct model *new = calloc(1, sizeof *new);

    if (!new || !name) {
        free(new);
        free(name);
        return NULL;
    }
    *new = (struct model){name, variant ? variant : description_name(d), description_classifies(d),
                          description_preset(d, variant, "base"),
                          description_preset(d, variant, "depth"), text, built_in, d, variant,
                          NULL};
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
            add_model(strdup(description_name(d)), d, NULL, builtin[i], true);
        for (size_t k = 0; d && (variant = description_variant(d, k)); k++)
            add_model(strdup(variant), d, variant, builtin[i], true);
    }
    loaded = true;
}

const struct model *model_find(const char *name)
{
    load_builtin();
    for (const struct model *m = first; m; m = m->next)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

const struct model *model_builtin(size_t i)
{
    const struct model *m;

    load_builtin();
    for (m = first; m && (!m->built_in || i > 0); m = m->next)
        i -= m->built_in;
    return m;
}

/* name NULL: the model is named after its title and the hash of the text. */
static const struct model *decode_model(const char *name, const char *text, const char *where,
                                        struct err *e)
{
    struct description *d = description_decode(text, where, e);
    char *copy = d ? strdup(text) : NULL, *key = NULL;
    uint64_t hash = hash_bytes(HASH_BEGIN, text, strlen(text));

    if (!d)
        return NULL;
    if (name)
        key = strdup(name);
    else if (asprintf(&key, "%s@%016" PRIx64, description_name(d), hash) < 0)
        key = NULL;
    const struct model *m = key && !name ? model_find(key) : NULL;
    if (m)
        free(key);
    else if (copy && (m = add_model(key, d, NULL, copy, false)))
        return m;
    else
        mem_fail(e);
    free(copy);
    description_destroy(d);
    return m;
}

const struct model *model_decode(const char *text, const char *where, struct err *e)
{
    return decode_model(NULL, text, where, e);
}

static const struct model *read_model(const char *path, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, DESCRIPTION_MAX, &n, e);
    const struct model *m = NULL;

    if (!text) {
        e->code = ERR_CONFIG;
        return NULL;
    }
    if (strlen(text) != n)
        err_set(e, ERR_CONFIG, "%s: this file is binary, but a model is YAML (unet-train model "
                "--print unet shows one)", path);
    else
        m = decode_model(path, text, path, e);
    free(text);
    return m;
}

static void set_unknown(const char *name, struct err *e)
{
    char list[1024] = "";

    for (const struct model *m = first; m; m = m->next)
        if (m->built_in)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     m->name);
    err_set(e, ERR_CONFIG, "there is no model \"%s\"; models are %s; name your own file *.yaml",
            name, list);
}

const struct model *model_open(const char *name, struct err *e)
{
    const char *dot = strrchr(name, '.');
    const struct model *m = model_find(name);

    if (!m && (strchr(name, '/') || (dot && strcmp(dot, ".yaml") == 0)))
        return read_model(name, e);
    if (!m)
        set_unknown(name, e);
    return m;
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
