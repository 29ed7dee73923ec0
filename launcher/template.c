/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/template.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/cli.h"
#include "src/paths.h"

#define MAX_VALUES 64
#define MAX_TEMPLATE (1 << 20)

struct marker {
    const char *start, *end; /* with the braces */
    char name[64], filter[16];
};

void template_quote_sh(struct buf *dst, const char *text)
{
    static const char safe[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";

    if (*text && strspn(text, safe) == strlen(text)) {
        buf_add(dst, text);
        return;
    }
    buf_add(dst, "'");
    for (; *text; text++) {
        if (*text == '\'')
            buf_add(dst, "'\\''");
        else
            buf_add_bytes(dst, text, 1);
    }
    buf_add(dst, "'");
}

static size_t line_at(const char *text, const char *p)
{
    size_t line = 1;

    for (; text < p; text++)
        line += *text == '\n';
    return line;
}

/* The next marker from p on: 1, 0 for none, or -1. */
static int find_marker(const char *file, const char *text, const char *p, struct marker *m,
                       struct err *e)
{
    const char *close, *bar;

    m->start = strstr(p, "{{");
    if (!m->start)
        return 0;
    close = strstr(m->start, "}}");
    if (!close || memchr(m->start, '\n', (size_t)(close - m->start)))
        return err_set(e, ERR_CONFIG, "%s:%zu: '{{' without '}}' in the same line", file,
                       line_at(text, m->start));
    m->end = close + 2;
    bar = memchr(m->start, '|', (size_t)(close - m->start));
    snprintf(m->name, sizeof m->name, "%.*s", (int)((bar ? bar : close) - m->start - 2),
             m->start + 2);
    snprintf(m->filter, sizeof m->filter, "%.*s", bar ? (int)(close - bar - 1) : 0, bar ? bar + 1 : "");
    return 1;
}

static int unknown_marker(const char *file, size_t line, const char *name,
                          const struct template_value *values, struct err *e)
{
    const char *names[MAX_VALUES + 1], *near;
    size_t n = 0;

    for (; n < MAX_VALUES && values[n].name; n++)
        names[n] = values[n].name;
    names[n] = NULL;
    near = cli_nearest(name, names);
    return err_set(e, ERR_CONFIG, "%s:%zu: unknown marker '{{%s}}'%s%s%s", file, line, name,
                   near ? "; did you mean '{{" : "", near ? near : "", near ? "}}'?" : "");
}

static int add_value(const char *file, size_t line, const struct marker *m, const char *value,
                     struct buf *dst, struct err *e)
{
    if (!*m->filter) {
        buf_add(dst, value);
        return 0;
    }
    if (strchr(value, '\n'))
        return err_set(e, ERR_CONFIG, "%s:%zu: the value of '%s' has a newline", file, line,
                       m->name);
    if (strcmp(m->filter, "sh") == 0)
        template_quote_sh(dst, value);
    else
        return err_set(e, ERR_CONFIG, "%s:%zu: unknown filter '|%s' (known: sh)", file, line,
                       m->filter);
    return 0;
}

/* A marker alone in its line: the whole line goes when the value is empty. */
static bool is_empty_line(const char *text, const struct marker *m, const char *value)
{
    return !*value && (m->start == text || m->start[-1] == '\n') && *m->end == '\n';
}

int template_render(const char *file, const char *text, const struct template_value *values,
                    struct buf *dst, struct err *e)
{
    bool used[MAX_VALUES] = {false};
    const char *p = text;
    struct marker m;
    int found;

    while ((found = find_marker(file, text, p, &m, e)) > 0) {
        size_t i = 0;
        while (values[i].name && strcmp(values[i].name, m.name) != 0)
            i++;
        if (!values[i].name)
            return unknown_marker(file, line_at(text, m.start), m.name, values, e);
        used[i] = true;
        buf_add_bytes(dst, p, (size_t)(m.start - p));
        if (add_value(file, line_at(text, m.start), &m, values[i].value, dst, e))
            return -1;
        p = m.end + is_empty_line(text, &m, values[i].value);
    }
    if (found < 0)
        return -1;
    buf_add(dst, p);
    for (size_t i = 0; values[i].name; i++)
        if (!used[i] && !values[i].optional)
            return err_set(e, ERR_CONFIG, "%s:%zu: the marker '{{%s}}' is missing", file,
                           line_at(text, text + strlen(text)), values[i].name);
    return 0;
}

char *template_render_file(const char *name, const struct template_value *values, struct err *e)
{
    char relative[256], path[PATH_MAX];
    struct buf b = {0};
    char *text, *rendered = NULL;
    size_t n;

    snprintf(relative, sizeof relative, "templates/%s", name);
    if (paths_data(relative, path, sizeof path, e))
        return NULL;
    text = atomicfile_read(path, MAX_TEMPLATE, &n, e);
    if (!text)
        return NULL;
    if (template_render(path, text, values, &b, e) == 0) {
        rendered = buf_steal(&b);
        if (!rendered)
            err_set(e, ERR_INTERNAL, "%s: no memory", path);
    }
    buf_destroy(&b);
    free(text);
    return rendered;
}
