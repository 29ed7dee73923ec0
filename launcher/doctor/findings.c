/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher/host/jsonio.h"
#include "src/control.h"

static const char *const level_names[] = {"ok", "warning", "error"};

void findings_add(struct findings *f, enum finding_level level, const char *check, const char *fmt,
                  ...)
{
    struct finding *grown = realloc(f->list, (f->count + 1) * sizeof *grown);
    va_list ap;

    if (!grown) {
        f->failed = true;
        return;
    }
    f->list = grown;
    struct finding *n = &grown[f->count++];
    *n = (struct finding){.level = level, .check = check};
    va_start(ap, fmt);
    vsnprintf(n->text, sizeof n->text, fmt, ap);
    control_blank(n->text);
    va_end(ap);
}

void findings_remedy(struct findings *f, const char *fmt, ...)
{
    va_list ap;

    if (f->failed || f->count == 0)
        return;
    va_start(ap, fmt);
    vsnprintf(f->list[f->count - 1].remedy, sizeof f->list->remedy, fmt, ap);
    control_blank(f->list[f->count - 1].remedy);
    va_end(ap);
}

size_t findings_count(const struct findings *f, enum finding_level level)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++)
        n += f->list[i].level == level;
    return n;
}

static int print_findings_json(const struct findings *f, struct err *e)
{
    json_t *list = json_array();

    for (size_t i = 0; i < f->count; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "check", f->list[i].check,
                                              "level",
                                              level_names[f->list[i].level], "text",
                                              f->list[i].text, "remedy", f->list[i].remedy));
    return jsonio_print(json_pack("{s:i, s:i, s:i, s:o}", "schema", 1, "errors",
                                  (int)findings_count(f, FINDING_ERROR), "warnings",
                                  (int)findings_count(f, FINDING_WARNING), "findings", list),
                        15, "the findings", e);
}

int findings_print(const struct findings *f, bool as_json, struct err *e)
{
    if (f->failed)
        return err_errno(e, ERR_INTERNAL, ENOMEM, "doctor");
    if (as_json)
        return print_findings_json(f, e);
    for (size_t i = 0; i < f->count; i++) {
        printf("%-8s %-9s %s\n", level_names[f->list[i].level], f->list[i].check, f->list[i].text);
        if (*f->list[i].remedy)
            printf("%-18s -> %s\n", "", f->list[i].remedy);
    }
    return 0;
}

void findings_destroy(struct findings *f)
{
    free(f->list);
    *f = (struct findings){0};
}
