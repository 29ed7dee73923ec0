/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/variant.h"
#include "src/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a variant with the settings of `from`, which may be NULL. Returns it, or NULL. */
static struct variant *add(struct variants *v, const char *name, const struct variant *from,
                           struct err *e)
{
    if (mem_grow(&v->at, v->count, &v->capacity, sizeof *v->at, e))
        return NULL;
    if (v->count == VARIANTS_MAX)
        return err_set(e, ERR_USAGE, "there are more than %d variants", VARIANTS_MAX), NULL;
    if (strlen(name) >= VARIANT_NAME_SIZE)
        return err_set(e, ERR_USAGE, "the name of the variant %s has more than %d characters; choose "
                       "one in study.yaml (variants)", name, VARIANT_NAME_SIZE - 1), NULL;
    struct variant *added = &v->at[v->count++];
    *added = (struct variant){0};
    snprintf(added->name, sizeof added->name, "%s", name);
    for (size_t i = 0; from && i < from->set.count; i++)
        if (setting_append_line(&added->set, from->set.lines[i], e))
            return NULL;
    return added;
}

/* Adds KEY=VALUE. What all runs share, or what does not belong to a training, is refused. */
static int add_setting(struct variant *v, const char *line, struct err *e)
{
    static const char *const shared[] = {"gpus=", "seeds=", "name=", "site=", "slurm.", "variants="};

    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (strncmp(line, shared[i], strlen(shared[i])) == 0)
            return err_set(e, ERR_USAGE, "variant %s: %.*s is not a setting of a variant: all runs "
                           "of a study share it", v->name, (int)strcspn(line, "="), line);
    return setting_append_line(&v->set, line, e);
}

/* Reads the lines "NAME" and "NAME KEY=VALUE" of study.yaml. */
static int take_study(const struct setting_lines *lines, struct variants *v, struct err *e)
{
    char name[SETTING_PATH_SIZE];

    for (size_t i = 0; i < lines->count; i++) {
        const char *line = lines->lines[i], *space = strchr(line, ' ');
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " "), line);
        if ((!v->count || strcmp(v->at[v->count - 1].name, name) != 0) && !add(v, name, NULL, e))
            return -1;
        if (space && add_setting(&v->at[v->count - 1], space + 1, e))
            return -1;
    }
    return 0;
}

/* Adds a value to a variant's name: "bf16", but "lr0.1" of train.lr, and "six-true" of
 * augment.six. */
static void name_value(const char *key, const char *value, char *dst, size_t size)
{
    const char *dot = strrchr(key, '.'), *leaf = dot ? dot + 1 : key;
    bool word = isalpha((unsigned char)*value), is_switch = strcmp(value, "true") == 0 ||
                                                            strcmp(value, "false") == 0;
    size_t n = strlen(dst);

    snprintf(dst + n, size - n, "%s%s%s%s", n ? "-" : "", word && !is_switch ? "" : leaf,
             is_switch ? "-" : "", value);
    for (char *p = dst + n; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-')
            *p = '-';
}

/* Replaces the variants by all combinations of them and the values of "KEY=VALUE,VALUE". */
static int multiply(const char *vary, struct variants *v, struct err *e)
{
    const char *equals = strchr(vary, '=');
    struct variants product = {0};
    const struct variant none = {0};
    char key[SETTING_PATH_SIZE], value[256], name[512], line[sizeof key + sizeof value];
    int rc = 0;

    if (!equals || !equals[1])
        return err_set(e, ERR_USAGE, "--vary %s: must be KEY=VALUE,VALUE", vary);
    snprintf(key, sizeof key, "%.*s", (int)(equals - vary), vary);
    for (size_t i = 0; rc == 0 && i < (v->count ? v->count : 1); i++)
        for (const char *p = equals; rc == 0 && *p; p += 1 + strcspn(p + 1, ",")) {
            const struct variant *from = v->count ? &v->at[i] : &none;
            snprintf(value, sizeof value, "%.*s", (int)strcspn(p + 1, ","), p + 1);
            snprintf(line, sizeof line, "%s=%s", key, value);
            snprintf(name, sizeof name, "%s", from->name);
            name_value(key, value, name, sizeof name);
            struct variant *own = add(&product, name, from, e);
            rc = own ? add_setting(own, line, e) : -1;
        }
    variant_list_destroy(v);
    *v = product;
    return rc ? err_prefix(e, "--vary %s", vary) : 0;
}

int variant_list_create(const struct study *s, const struct cli_list *vary, struct variants *dst,
                    struct err *e)
{
    *dst = (struct variants){0};
    if (take_study(&s->variants, dst, e)) {
        e->code = ERR_CONFIG;
        return err_prefix(e, "%s", study_place(s, "variants"));
    }
    for (size_t i = 0; i < vary->count; i++)
        if (multiply(vary->values[i], dst, e))
            return -1;
    for (size_t i = 0; i < dst->count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(dst->at[i].name, dst->at[k].name) == 0)
                return err_set(e, ERR_USAGE, "two variants have the name %s", dst->at[i].name);
    return 0;
}

void variant_list_destroy(struct variants *v)
{
    for (size_t i = 0; i < v->count; i++)
        setting_clear_lines(&v->at[i].set);
    free(v->at);
    *v = (struct variants){0};
}
