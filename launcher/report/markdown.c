/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/document.h"

#include <stdio.h>
#include <string.h>

#include "launcher/report/chart.h"

#define add(b, ...) escape_format(b, escape_markdown, __VA_ARGS__)

static const char *replace(char c, char scratch[8])
{
    if (c == '&' || c == '<' || c == '>')
        return c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;";
    if (!strchr("\\`*_[]#|~$", c))
        return NULL;
    snprintf(scratch, 8, "\\%c", c);
    return scratch;
}

void escape_markdown(struct buf *b, const char *text)
{
    escape_text(b, text, replace);
}

static void write_table(struct buf *b, const struct table *t)
{
    add(b, "*%s*\n", t->caption);
    for (size_t row = 0; row < table_rows(t); row++) {
        buf_add(b, "\n|");
        for (size_t i = 0; i < t->ncolumns; i++)
            if (t->columns[i].shown)
                add(b, " %s |", table_cell(t, row, i));
        buf_add(b, row ? "" : "\n|");
        for (size_t i = 0; row == 0 && i < t->ncolumns; i++)
            if (t->columns[i].shown)
                buf_add(b, t->columns[i].left ? " :-- |" : " --: |");
    }
    buf_add(b, "\n\n");
}

static void write_children(struct buf *b, const struct node *parent, int level);

static void write_section(struct buf *b, const struct node *n, int level)
{
    bool titled = *n->text && !(n->untitled & TO_MARKDOWN) && n->fold == FOLD_NONE;

    if (titled && n->role == ROLE_VERDICT)
        add(b, "**%s**\n\n", n->text);
    else if (titled) {
        buf_addf(b, "%.*s ", level, "######");
        add(b, "%s\n\n", n->text);
    }
    write_children(b, n, level + titled);
}

static void write_node(struct buf *b, const struct node *n, int level)
{
    const struct node *next = node_next(n, TO_MARKDOWN);

    switch (n->kind) {
    case NODE_SECTION: write_section(b, n, level); break;
    case NODE_SENTENCE:
        add(b, next && next->kind == NODE_SENTENCE ? "%s  \n" : "%s\n\n", n->text);
        break;
    case NODE_PARAGRAPH:
        escape_lines(b, escape_markdown, n->text, "");
        buf_add(b, "\n");
        break;
    case NODE_LIST:
        add(b, *n->text ? "%s:\n\n" : "", n->text);
        for (const struct node *item = node_first(n, TO_MARKDOWN); item;
             item = node_next(item, TO_MARKDOWN))
            add(b, "- %s\n", item->text);
        buf_add(b, "\n");
        break;
    case NODE_TERM:
    case NODE_TILE:
        add(b, n->text[strcspn(n->text, ".")] ? "- **%s** %s\n" : "- **%s**: %s\n", n->text, n->more);
        buf_add(b, next && next->kind == n->kind ? "" : "\n");
        break;
    case NODE_PROGRESS: add(b, "%s\n\n", n->text); break;
    case NODE_TABLE: write_table(b, n->table); break;
    case NODE_FIGURE:
        add(b, "![%s]", n->chart->title);
        buf_addf(b, "(%s.svg)\n\n", n->text);
        add(b, "*%s*\n\n", n->chart->caption);
        break;
    case NODE_PICTURE: add(b, "*%s*\n\n", n->text); break;
    case NODE_CODE:
        escape_lines(b, escape_plain, n->text, "    ");
        buf_add(b, "\n");
        break;
    }
}

static void write_children(struct buf *b, const struct node *parent, int level)
{
    for (const struct node *n = node_first(parent, TO_MARKDOWN); n; n = node_next(n, TO_MARKDOWN))
        write_node(b, n, level);
}

void markdown_write(const struct doc *d, struct buf *b)
{
    if (*d->comment)
        buf_addf(b, "<!-- %s -->\n\n", d->comment);
    if (*d->title)
        add(b, "# %s: %s\n\n%s\n\n", d->title, d->heading, d->about);
    write_children(b, &d->root, 2);
}
