/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/log/log_form.h"

#include <stdio.h>
#include <string.h>

static int set_column(struct log_form *form, const char *text, struct err *e)
{
    const struct {
        const char *name;
        const char **dst;
    } members[] = {{"time=", &form->time}, {"step=", &form->step}, {"units=", &form->units},
                   {"quality=", &form->quality}, {"pattern=", &form->pattern}};

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        size_t n = strlen(members[i].name);
        if (strncmp(text, members[i].name, n) == 0 && text[n]) {
            *members[i].dst = text + n;
            return 0;
        }
    }
    return err_set(e, ERR_USAGE, "--column %s: must be time=NAME, step=NAME, units=NAME, "
                   "quality=NAME or pattern=REGEX", text);
}

bool log_form_is_lower(const struct log_form *form, const char *name)
{
    static const char *const errors[] = {"loss", "error", "perplexity", "mse", "mae"};

    if (form->better && strcmp(form->better, "auto") != 0)
        return strcmp(form->better, "lower") == 0;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (strcasestr(name, errors[i]))
            return true;
    return false;
}

int log_form_decode(struct log_form_args *args, struct log_form *dst, struct err *e)
{
    *dst = (struct log_form){.unit = args->unit};
    for (size_t i = 0; i < args->columns.count; i++)
        if (set_column(dst, args->columns.values[i], e))
            return -1;
    if (!args->quality)
        return 0;
    const char *colon = strrchr(args->quality, ':');
    bool cut = colon && (strcmp(colon, ":lower") == 0 || strcmp(colon, ":higher") == 0);
    size_t n = cut ? (size_t)(colon - args->quality) : strlen(args->quality);
    if (n == 0 || n >= sizeof args->name)
        return err_set(e, ERR_USAGE, "--quality %s: must be a name of 1 to %zu bytes", args->quality,
                       sizeof args->name - 1);
    snprintf(args->name, sizeof args->name, "%.*s", (int)n, args->quality);
    dst->quality_name = args->name;
    dst->better = cut ? colon + 1 : NULL;
    return 0;
}
