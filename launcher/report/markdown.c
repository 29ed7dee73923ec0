/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/report/markup/escape.h"
#include "launcher/report/tables.h"

#define MARKDOWN_MAX_RUNS 1000

static void add_markdown_lines(struct buf *b, const char *text, const char *before,
                               const char *behind)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = strndup(text, n);
        buf_add(b, before);
        escape_markdown(b, line ? line : "");
        buf_add(b, behind);
        b->failed |= !line;
        free(line);
        text += n + (text[n] == '\n');
    }
}

static void add_figures(struct buf *b, const struct figures *f)
{
    for (size_t i = 0; f->drawn && i < f->count; i++) {
        buf_add(b, "![");
        escape_markdown(b, f->list[i].title);
        buf_addf(b, "](figures/%s.png)\n\n", f->list[i].name);
        escape_markdown(b, f->list[i].caption);
        buf_add(b, "\n\n");
    }
    if (f->drawn)
        return;
    buf_add(b, "There are no figures: ");
    escape_markdown(b, f->why_not);
    buf_add(b, ".\n\n");
}

static void add_tables(struct buf *b, const struct report *r)
{
    struct table t;

    tables_add(b, r, tables_of_series, table_encode_markdown);
    buf_add(b, "## Rules of scientific benchmarking\n\n");
    tables_fill_rules(&t, r);
    table_append(&t, table_encode_markdown, b);
    buf_add(b, "## Runs\n\n");
    for (size_t i = 0; i < r->nsources; i++) {
        tables_fill_runs(&t, &r->sources[i].results, MARKDOWN_MAX_RUNS);
        table_append(&t, table_encode_markdown, b);
    }
}

static void add_verdict(struct buf *b, const struct report_series *s)
{
    add_markdown_lines(b, s->words.headline, "**", "**\n\n");
    if (*s->words.caveats) {
        buf_add(b, "But:\n\n");
        add_markdown_lines(b, s->words.caveats, "- ", "\n");
        buf_add(b, "\n");
    }
    add_markdown_lines(b, s->words.reasons, "", "  \n");
    buf_add(b, "\n");
}

char *markdown_encode(const struct report *r, const struct figures *f)
{
    struct buf b = {0};

    buf_add(&b, "# ");
    escape_markdown(&b, r->title);
    buf_add(&b, ": how many GPUs are worth it?\n\n");
    for (size_t i = 0; i < r->nseries; i++)
        add_verdict(&b, &r->series[i]);
    add_markdown_lines(&b, r->rule, "Rule: ", "\n\n");
    add_markdown_lines(&b, r->differences, "", "  \n");
    if (*r->differences)
        buf_add(&b, "\n");
    if (*r->problems) {
        buf_add(&b, "Left out (in no number below):\n\n");
        add_markdown_lines(&b, r->problems, "- ", "\n");
        buf_add(&b, "\n");
    }
    buf_add(&b, "## Figures\n\n");
    add_figures(&b, f);
    buf_add(&b, "## Numbers\n\n");
    add_tables(&b, r);
    buf_addf(&b, "Made by unetctl %s on %s.\n", PACKAGE_VERSION, r->created);
    return buf_steal(&b);
}
