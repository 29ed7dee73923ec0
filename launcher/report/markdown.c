/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/markdown.h"

#include "launcher/report/markup/escape.h"
#include "launcher/report/tables.h"

#define MARKDOWN_MAX_RUNS 1000

static void add_markdown_verdict(struct buf *b, const struct report_series *s)
{
    escape_format(b, escape_markdown, "**%s**\n\n", s->words.headline);
    escape_lines(b, escape_markdown, s->words.evidence, "", "  \n");
    buf_add(b, *s->words.evidence ? "\n" : "");
    if (*s->words.caveats) {
        buf_add(b, "But:\n\n");
        escape_lines(b, escape_markdown, s->words.caveats, "- ", "\n");
        buf_add(b, "\n");
    }
    escape_lines(b, escape_markdown, s->words.reasons, "", "  \n");
    buf_add(b, "\n");
}

static void add_markdown_figures(struct buf *b, const struct figures *f)
{
    buf_add(b, "## Figures\n\n");
    for (size_t i = 0; i < f->count; i++) {
        escape_format(b, escape_markdown, "![%s]", f->list[i].title);
        buf_addf(b, "(figures/%s.svg)\n\n", f->list[i].name);
        escape_format(b, escape_markdown, "%s\n\n", f->list[i].caption);
    }
}

static void add_markdown_tables(struct buf *b, const struct report *r)
{
    struct table t;

    buf_add(b, "## Numbers\n\n");
    tables_add(b, r, table_encode_markdown);
    buf_add(b, "## Rules of scientific benchmarking\n\n");
    tables_fill_rules(&t, r);
    table_append(&t, table_encode_markdown, b);
    buf_add(b, "## Runs\n\n");
    for (size_t i = 0; i < r->nsources; i++) {
        tables_fill_runs(&t, &r->sources[i].results, MARKDOWN_MAX_RUNS);
        table_append(&t, table_encode_markdown, b);
        tables_fill_software(&t, &r->sources[i].results);
        table_append(&t, table_encode_markdown, b);
    }
}

char *markdown_encode(const struct report *r, const struct figures *f)
{
    struct buf b = {0};

    escape_format(&b, escape_markdown, "# %s: how many GPUs are worth it?\n\n", r->title);
    for (size_t i = 0; i < r->nseries; i++)
        add_markdown_verdict(&b, &r->series[i]);
    escape_format(&b, escape_markdown, "Rule: %s\n\n", r->rule);
    escape_lines(&b, escape_markdown, r->differences, "", "  \n");
    buf_add(&b, *r->differences ? "\n" : "");
    if (*r->problems) {
        buf_add(&b, "Left out (in no number below):\n\n");
        escape_lines(&b, escape_markdown, r->problems, "- ", "\n");
        buf_add(&b, "\n");
    }
    add_markdown_figures(&b, f);
    add_markdown_tables(&b, r);
    buf_addf(&b, "Made by unetctl %s on %s.\n", PACKAGE_VERSION, r->created);
    return buf_steal(&b);
}
