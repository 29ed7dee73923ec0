/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/script/template.h"

#include "src/cli.h"

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define PATH_LETTERS WORD ".-/"
#define TAG "tag_"
#define SETUP "setup.sh" /* the only tag of the reference systems that does not begin with tag_ */
#define SAFE WORD "@%+=:,./-"

struct marker {
    const char *start, *end; /* including the braces */
    char name[64], filter[16];
    bool tag;
};

void template_quote_sh(struct buf *dst, const char *text)
{
    if (*text && strspn(text, SAFE) == strlen(text)) {
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

size_t template_count_lines(const char *text)
{
    return line_at(text, text + strlen(text));
}

static void set_name(struct marker *m, const char *name, size_t length)
{
    snprintf(m->name, sizeof m->name, "%.*s", (int)length, name);
}

/* Returns the length of the tag that starts at p, or 0 if none does. */
static size_t tag_length(const char *text, const char *p)
{
    size_t n = 0;

    if (text_begins(p, TAG) && (p == text || !strchr(WORD, p[-1])))
        n = strspn(p, WORD);
    else if (text_begins(p, SETUP) && (p == text || !strchr(PATH_LETTERS, p[-1])))
        n = strspn(p, PATH_LETTERS) == strlen(SETUP) ? strlen(SETUP) : 0;
    return n;
}

bool template_has_tags(const char *text)
{
    for (const char *p = strstr(text, TAG); p; p = strstr(p + 1, TAG))
        if (tag_length(text, p))
            return true;
    return false;
}

/* Reads the text between the braces at m->start. Returns 1, or -1. */
static int read_marker(const char *file, const char *text, struct marker *m, struct err *e)
{
    const char *close = strstr(m->start, "}}"), *bar;

    if (!close || memchr(m->start, '\n', (size_t)(close - m->start)))
        return err_set(e, ERR_CONFIG, "%s:%zu: '{{' has no '}}' in the same line", file,
                       line_at(text, m->start));
    m->end = close + 2;
    bar = memchr(m->start, '|', (size_t)(close - m->start));
    set_name(m, m->start + 2, (size_t)((bar ? bar : close) - m->start - 2));
    snprintf(m->filter, sizeof m->filter, "%.*s", bar ? (int)(close - bar - 1) : 0,
             bar ? bar + 1 : "");
    return 1;
}

/* Finds the next marker, or if tags is true also the next tag, from p on. Returns 1, 0 if there is
 * none, or -1. */
static int find_marker(const char *file, const char *text, const char *p, bool tags,
                       struct marker *m, struct err *e)
{
    *m = (struct marker){0};
    for (m->start = p; *m->start; m->start++) {
        size_t n;
        if (strncmp(m->start, "{{", 2) == 0)
            return read_marker(file, text, m, e);
        if (tags && (n = tag_length(text, m->start)) > 0) {
            m->tag = true;
            m->end = m->start + n;
            set_name(m, m->start, n);
            return 1;
        }
    }
    return 0;
}

static int unknown_marker(const char *file, size_t line, const char *name, bool tag,
                          const struct template_value *values, struct err *e)
{
    const char *names[TEMPLATE_VALUES_MAX + 1], *near, *open = tag ? "" : "{{",
        *close = tag ? "" : "}}";
    size_t n = 0;

    for (size_t i = 0; i < TEMPLATE_VALUES_MAX && values[i].name; i++)
        if ((tag_length(values[i].name, values[i].name) > 0) == tag)
            names[n++] = values[i].name;
    names[n] = NULL;
    near = cli_nearest(name, names);
    return err_set(e, ERR_CONFIG, "%s:%zu: unknown %s '%s%s%s'%s%s%s%s%s%s", file, line,
                   tag ? "tag" : "marker", open, name, close, near ? "; did you mean '" : "",
                   near ? open : "", near ? near : "", near ? close : "", near ? "'?" : "", tag ? ""
                   : " ('unetctl template list' has all; markers: {open: \"{{\"} in study.yaml "
                     "makes {{open}} stand for two braces)");
}

static int add_marker_value(const char *file, const char *text, const struct marker *m,
                            const char *value, struct buf *dst, struct err *e)
{
    if (m->tag && strspn(value, SAFE) != strlen(value))
        return err_set(e, ERR_CONFIG, "%s:%zu: '%s' would become '%.200s', which needs quotes that "
                       "a tag cannot have; rename it, or use a marker such as {{script|sh}}",
                       file, line_at(text, m->start), m->name, value);
    if (!*m->filter) {
        buf_add(dst, value);
        return 0;
    }
    if (strchr(value, '\n'))
        return err_set(e, ERR_CONFIG, "%s:%zu: the value of '%s' has a newline", file,
                       line_at(text, m->start), m->name);
    if (strcmp(m->filter, "sh") == 0)
        template_quote_sh(dst, value);
    else
        return err_set(e, ERR_CONFIG, "%s:%zu: unknown filter '|%s' (known: sh)", file,
                       line_at(text, m->start), m->filter);
    return 0;
}

/* Returns whether this is a marker alone on its line, without a filter, and its value is empty. If
 * so, the whole line is removed. */
static bool is_empty_line(const char *text, const struct marker *m, const char *value)
{
    return !*value && !*m->filter && (m->start == text || m->start[-1] == '\n') && *m->end == '\n';
}

int template_expand(const char *file, const char *text, bool tags,
                    const struct template_value *values, bool used[TEMPLATE_VALUES_MAX],
                    struct buf *dst, struct err *e)
{
    const char *p = text;
    struct marker m;
    int found;

    memset(used, 0, TEMPLATE_VALUES_MAX * sizeof *used);
    while ((found = find_marker(file, text, p, tags, &m, e)) > 0) {
        size_t i = 0;
        while (i < TEMPLATE_VALUES_MAX && values[i].name && strcmp(values[i].name, m.name) != 0)
            i++;
        if (i == TEMPLATE_VALUES_MAX || !values[i].name)
            return unknown_marker(file, line_at(text, m.start), m.name, m.tag, values, e);
        used[i] = true;
        buf_add_bytes(dst, p, (size_t)(m.start - p));
        if (add_marker_value(file, text, &m, values[i].value, dst, e))
            return -1;
        p = m.end + is_empty_line(text, &m, values[i].value);
    }
    if (found < 0)
        return -1;
    buf_add(dst, p);
    return 0;
}

void template_add_lines(struct buf *b, const struct setting_lines *list)
{
    for (size_t i = 0; i < list->count; i++)
        buf_addf(b, "%s\n", list->lines[i]);
}

void template_add_exports(struct buf *b, const struct setting_lines *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *value = strchr(list->lines[i], '=') + 1;
        buf_addf(b, "export %.*s", (int)(value - list->lines[i]), list->lines[i]);
        template_add_sh(b, "%s\n", value);
    }
}
