/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/yaml_environment.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli.h"

#define MAX_NAME 96

/* Writes the name of a setting's variable without prefix: TRAIN_LR for train.lr. */
static void name_key(const struct setting *k, char dst[MAX_NAME])
{
    snprintf(dst, MAX_NAME, "%s", k->path);
    for (; *dst; dst++)
        *dst = *dst == '.' ? '_' : (char)toupper((unsigned char)*dst);
}

/* Returns whether name begins with a section and an underscore, such as "TRAIN_". */
static bool is_in_section(const struct setting *keys, const char *name)
{
    char known[MAX_NAME];

    for (const struct setting *k = keys; k->path; k++) {
        const char *dot = strchr(k->path, '.');
        name_key(k, known);
        if (dot && strncmp(name, known, (size_t)(dot - k->path) + 1) == 0)
            return true;
    }
    return false;
}

/* Refuses a variable that was meant as a setting: its name begins with a section, or differs
 * from a setting's by a typing error. Other variables with the prefix are ignored. name is
 * without the prefix. */
static int check_variable(const struct setting *keys, const char *prefix, const char *name,
                          const char *value, struct err *e)
{
    char names[SETTINGS_MAX][MAX_NAME];
    const char *pointers[SETTINGS_MAX + 1], *near, *end = strrchr(name, '_');
    size_t n = 0;

    for (const struct setting *k = settings_gone; k->path; k++) {
        name_key(k, names[0]);
        if (strcmp(names[0], name) == 0)
            return setting_check_gone(k->path, value, e) < 0
                       ? err_prefix(e, "$%s%s", prefix, name) : 0;
    }
    for (; n < SETTINGS_MAX && keys[n].path; n++) {
        name_key(&keys[n], names[n]);
        pointers[n] = names[n];
        if (strcmp(names[n], name) == 0)
            return 0;
    }
    pointers[n] = NULL;
    near = cli_nearest(name, pointers);
    bool slipped = near && end && strlen(near) == strlen(name) &&
        strcmp(near + (end - name), end) == 0;
    if (!is_in_section(keys, name) && !slipped)
        return 0;
    return err_set(e, ERR_USAGE, "$%s%s is not the variable of a setting%s%s%s%s (unset it; "
                   "'unetctl config' lists the settings)", prefix, name, near ? "; did you mean "
                                                                                "$" : "",
                   near ? prefix : "", near ? near : "", near ? "?" : "");
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static int check_names(const struct setting *keys, const char *prefix, const char *const *others,
                       struct err *e)
{
    size_t length = strlen(prefix);
    char name[MAX_NAME];

    for (char **v = environ; *v; v++) {
        size_t n = strcspn(*v, "=");
        if (strncmp(*v, prefix, length) != 0 || !(*v)[n] || !(*v)[n + 1] ||
            n - length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(n - length), *v + length);
        if (!is_one_of(name, others) && check_variable(keys, prefix, name, *v + n + 1, e))
            return -1;
    }
    return 0;
}

int yaml_environment_add(const struct setting *keys, const char *prefix, const char *const *others,
                         void *dst, struct yaml_origins *origins, struct err *e)
{
    char name[MAX_NAME], where[2 * MAX_NAME];

    for (const struct setting *k = keys; k->path; k++) {
        name_key(k, name);
        snprintf(where, sizeof where, "$%s%s", prefix, name);
        const char *value = getenv(where + 1);
        if (value && *value &&
            yaml_table_add_text(keys, k->path, value, YAML_ENVIRONMENT, where, dst, origins, e))
            return -1;
    }
    return check_names(keys, prefix, others, e);
}
