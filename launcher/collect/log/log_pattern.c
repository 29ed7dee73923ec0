/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/log/log_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

struct matcher {
    pcre2_code *code;
    pcre2_match_data *found;
    uint32_t ngroups, entry_size; /* named groups; an entry is two bytes of its number, its name */
    const unsigned char *groups;
    int column[LOG_COLUMNS_MAX];
};

static void destroy_matcher(struct matcher *m)
{
    pcre2_match_data_free(m->found);
    pcre2_code_free(m->code);
}

static int create_matcher(struct matcher *m, const char *pattern, struct log_table *t,
                          struct err *e)
{
    unsigned char why[128];
    PCRE2_SIZE at;
    int code;

    *m = (struct matcher){.code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0,
                                                &code, &at, NULL)};
    if (!m->code) {
        pcre2_get_error_message(code, why, sizeof why);
        return err_set(e, ERR_CONFIG, "%s: the pattern '%.200s' is wrong after %zu bytes: %s",
                       t->path, pattern, at, (const char *)why);
    }
    pcre2_pattern_info(m->code, PCRE2_INFO_NAMECOUNT, &m->ngroups);
    pcre2_pattern_info(m->code, PCRE2_INFO_NAMEENTRYSIZE, &m->entry_size);
    pcre2_pattern_info(m->code, PCRE2_INFO_NAMETABLE, &m->groups);
    if (m->ngroups == 0 || m->ngroups > LOG_COLUMNS_MAX)
        return err_set(e, ERR_CONFIG,
                       "%s: the pattern '%.200s' has no named group, such as (?<time>[0-9.]+)",
                       t->path, pattern);
    m->found = pcre2_match_data_create_from_pattern(m->code, NULL);
    return m->found ? 0 : mem_fail(e);
}

static const unsigned char *group_of(const struct matcher *m, uint32_t i)
{
    return m->groups + (size_t)i * m->entry_size;
}

/* Appends a row if the line matches. */
static int match_line(struct matcher *m, const char *line, size_t n, size_t number,
                      struct log_table *t, struct err *e)
{
    int rc = pcre2_match(m->code, (PCRE2_SPTR)line, n, 0, 0, m->found, NULL);

    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc < 0)
        return err_set(e, ERR_CONFIG, "%s:%zu: the pattern is too costly for this line: make it "
                       "simpler", t->path, number);
    if (log_table_add_row(t, number, e))
        return -1;
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(m->found);
    for (uint32_t i = 0; i < m->ngroups; i++) {
        int group = group_of(m, i)[0] << 8 | group_of(m, i)[1];
        PCRE2_SIZE from = place[2 * group], to = place[2 * group + 1];
        if (from == PCRE2_UNSET || to < from)
            continue;
        char *text = strndup(line + from, to - from);
        int failed = text ? log_table_set(t, m->column[i], text, e) : mem_fail(e);
        free(text);
        if (failed)
            return -1;
    }
    return 0;
}

int log_pattern_read(const char *text, const char *pattern, struct log_table *t, struct err *e)
{
    struct matcher m;
    int rc = create_matcher(&m, pattern, t, e);
    size_t number = 0;

    for (uint32_t i = 0; i < m.ngroups && rc == 0; i++)
        rc = (m.column[i] = log_table_column(t, (const char *)group_of(&m, i) + 2, e)) < 0 ? -1 : 0;
    for (const char *line = text, *end; rc == 0 && *line; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        rc = match_line(&m, line, (size_t)(end - line), ++number, t, e);
    }
    if (rc == 0 && t->nrows == 0)
        rc = err_set(e, ERR_CONFIG, "%s: none of its %zu lines matches the pattern '%.200s'",
                     t->path, number, pattern);
    destroy_matcher(&m);
    return rc;
}
