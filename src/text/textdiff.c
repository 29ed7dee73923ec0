/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/text/textdiff.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 4096
#define CONTEXT 3

struct line {
    const char *start;
    size_t length; /* without the newline */
    bool complete; /* has one */
};

struct text {
    struct line *lines;
    size_t count;
};

static int split(const char *s, struct text *dst, struct err *e)
{
    size_t n = 0;

    for (const char *p = s; *p; p++)
        n += *p == '\n' || !p[1];
    *dst = (struct text){calloc(n + 1, sizeof *dst->lines), 0};
    if (!dst->lines)
        return err_errno(e, ERR_INTERNAL, errno, "diff");
    while (*s) {
        size_t length = strcspn(s, "\n");
        dst->lines[dst->count++] = (struct line){s, length, s[length] != 0};
        s += length + (s[length] != 0);
    }
    return 0;
}

static bool same(const struct line *a, const struct line *b)
{
    return a->length == b->length && a->complete == b->complete &&
           memcmp(a->start, b->start, a->length) == 0;
}

/* One line of the edit script: ' ' kept, '-' taken away, '+' added. */
struct edit {
    char kind;
    const struct line *line;
};

struct script {
    struct edit *edits;
    size_t count;
};

/* Longest common subsequence: table[i * (nb + 1) + j] is its length in a[i..], b[j..]. */
static uint16_t *measure_common(const struct text *a, const struct text *b)
{
    size_t width = b->count + 1;
    uint16_t *table = calloc((a->count + 1) * width, sizeof *table);

    for (size_t i = a->count; table && i-- > 0;)
        for (size_t j = b->count; j-- > 0;) {
            uint16_t down = table[(i + 1) * width + j], right = table[i * width + j + 1];
            if (same(&a->lines[i], &b->lines[j]))
                table[i * width + j] = (uint16_t)(table[(i + 1) * width + j + 1] + 1);
            else
                table[i * width + j] = down > right ? down : right;
        }
    return table;
}

static int compare_texts(const struct text *a, const struct text *b, struct script *dst,
                         struct err *e)
{
    size_t width = b->count + 1, i = 0, j = 0;
    uint16_t *table = measure_common(a, b);

    *dst = (struct script){table ? calloc(a->count + b->count + 1, sizeof *dst->edits) : NULL, 0};
    if (!dst->edits) {
        free(table);
        return err_errno(e, ERR_INTERNAL, ENOMEM, "diff");
    }
    while (i < a->count || j < b->count) {
        if (i < a->count && j < b->count && same(&a->lines[i], &b->lines[j])) {
            dst->edits[dst->count++] = (struct edit){' ', &a->lines[i++]};
            j++;
        } else if (j == b->count ||
                   (i < a->count && table[(i + 1) * width + j] >= table[i * width + j + 1])) {
            dst->edits[dst->count++] = (struct edit){'-', &a->lines[i++]};
        } else {
            dst->edits[dst->count++] = (struct edit){'+', &b->lines[j++]};
        }
    }
    free(table);
    return 0;
}

/* The end of the hunk that begins at edit `start`: where more than two contexts of kept lines
 * follow. */
static size_t end_of_hunk(const struct script *s, size_t start)
{
    size_t end = start, kept = 0;

    for (size_t i = start; i < s->count && kept <= 2 * CONTEXT; i++) {
        kept = s->edits[i].kind == ' ' ? kept + 1 : 0;
        if (kept == 0)
            end = i + 1;
    }
    return end + CONTEXT < s->count ? end + CONTEXT : s->count;
}

static void add_range(struct buf *dst, char sign, size_t first, size_t count)
{
    /* An empty range names the line before it. */
    buf_addf(dst, " %c%zu", sign, count ? first : first - 1);
    if (count != 1)
        buf_addf(dst, ",%zu", count);
}

static void add_hunk(const struct script *s, size_t from, size_t to, size_t old_line,
                     size_t new_line, struct buf *dst)
{
    size_t nold = 0, nnew = 0;

    for (size_t i = from; i < to; i++) {
        nold += s->edits[i].kind != '+';
        nnew += s->edits[i].kind != '-';
    }
    buf_add(dst, "@@");
    add_range(dst, '-', old_line, nold);
    add_range(dst, '+', new_line, nnew);
    buf_add(dst, " @@\n");
    for (size_t i = from; i < to; i++) {
        const struct line *l = s->edits[i].line;
        buf_addf(dst, "%c%.*s\n", s->edits[i].kind, (int)l->length, l->start);
        if (!l->complete)
            buf_add(dst, "\\ No newline at end of file\n");
    }
}

static void add_hunks(const struct script *s, struct buf *dst)
{
    size_t old_line = 1, new_line = 1;

    for (size_t i = 0; i < s->count; i++) {
        size_t from = i, to;
        while (from < s->count && s->edits[from].kind == ' ')
            from++;
        if (from == s->count)
            return;
        from = from > i + CONTEXT ? from - CONTEXT : i;
        to = end_of_hunk(s, from);
        old_line += from - i;
        new_line += from - i;
        add_hunk(s, from, to, old_line, new_line, dst);
        for (; from < to; from++) {
            old_line += s->edits[from].kind != '+';
            new_line += s->edits[from].kind != '-';
        }
        i = to - 1;
    }
}

int textdiff_unified(const char *old_text, const char *new_text, const char *old_name,
                     const char *new_name, struct buf *dst, struct err *e)
{
    struct text a = {NULL, 0}, b = {NULL, 0};
    struct script script = {NULL, 0};
    int rc = -1;

    if (strcmp(old_text, new_text) == 0)
        return 0;
    if (split(old_text, &a, e) || split(new_text, &b, e))
        goto out;
    if (a.count > MAX_LINES || b.count > MAX_LINES) {
        err_set(e, ERR_DATA, "%s: more than %d lines; compare it with diff -u", new_name,
                MAX_LINES);
        goto out;
    }
    rc = compare_texts(&a, &b, &script, e);
    if (rc == 0) {
        buf_addf(dst, "--- %s\n+++ %s\n", old_name, new_name);
        add_hunks(&script, dst);
    }
out:
    free(script.edits);
    free(a.lines);
    free(b.lines);
    return rc;
}
