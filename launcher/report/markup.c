/* SPDX-License-Identifier: BSD-3-Clause */
/* Markdown and LaTeX, which differ in their syntax. */
#include "src/base.h"
#include "launcher/report/document.h"

#include "launcher/report/chart.h"

/* What stands around the texts of a node. */
struct syntax {
    unsigned output;
    escape_f *escape;
    const char *headings[3]; /* by level */
    const char *verdict;     /* the heading of a verdict, or NULL */
    const char *break_;      /* between two sentences */
    const char *label, *list[3], *term[2];
    void (*table)(struct buf *b, const struct table *t);
    void (*figure)(struct buf *b, const struct node *n);
};

static const char *replace_markdown(char c, char scratch[8])
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
    escape_text(b, text, replace_markdown);
}

static void write_markdown_table(struct buf *b, const struct table *t)
{
    buf_add_escaped(b, escape_markdown, "*%s*\n", t->caption);
    for (size_t row = 0; row < table_rows(t); row++) {
        buf_add(b, "\n|");
        for (size_t i = 0; i < t->ncolumns; i++)
            if (t->columns[i].shown)
                buf_add_escaped(b, escape_markdown, " %s |", table_cell(t, row, i));
        buf_add(b, row ? "" : "\n|");
        for (size_t i = 0; row == 0 && i < t->ncolumns; i++)
            if (t->columns[i].shown)
                buf_add(b, t->columns[i].left ? " :-- |" : " --: |");
    }
    buf_add(b, "\n\n");
}

static void write_markdown_figure(struct buf *b, const struct node *n)
{
    buf_add_escaped(b, escape_markdown, "![%s]", n->chart->title);
    buf_addf(b, "(%s.svg)\n\n", n->text);
    buf_add_escaped(b, escape_markdown, "*%s*\n\n", n->chart->caption);
}

static const struct syntax markdown = {
    TO_MARKDOWN, escape_markdown, {"## %s\n\n", "### %s\n\n", "#### %s\n\n"},
    "**%s**\n\n", "  \n", "%s:\n\n", {"", "- %s\n", "\n"}, {"- **%s**: %s\n", "- **%s** %s\n"},
    write_markdown_table, write_markdown_figure};

static const char *replace_latex(char c, char scratch[8])
{
    switch (c) {
    case '\\': return "\\textbackslash{}";
    case '^': return "\\textasciicircum{}";
    case '~': return "\\textasciitilde{}";
    case '<': return "\\textless{}";
    case '>': return "\\textgreater{}";
    case '|': return "\\textbar{}";
    case '"': return "\\textquotedbl{}";
    case '`': return "\\textasciigrave{}";
    default: break;
    }
    if (!strchr("{}$&#_%", c))
        return NULL;
    snprintf(scratch, 8, "\\%c", c);
    return scratch;
}

/* Returns the replacement of a "-" that stands between the characters `before` (NUL at the start)
 * and `after`: a minus sign before a number, a hyphen that LaTeX does not join to a dash beside
 * another "-", otherwise a hyphen. */
static const char *replace_minus(char before, char after)
{
    if (after >= '0' && after <= '9' && (before == '\0' || strchr(" .(", before)))
        return "$-$";
    return before == '-' || after == '-' ? "{-}" : "-";
}

void escape_latex(struct buf *b, const char *text)
{
    struct buf plain = {0};

    escape_plain(&plain, text);
    for (const char *p = plain.data ? plain.data : ""; *p;) {
        size_t n = utf8_size(p);
        char scratch[8];
        const char *other = n == 1 ? replace_latex(*p, scratch) : p[0] == '\xc3' ? NULL : "?";
        if (*p == '-')
            other = replace_minus(p == plain.data ? '\0' : p[-1], p[1]);
        if (other)
            buf_add(b, other);
        else
            buf_add_bytes(b, p, n);
        p += n;
    }
    b->failed |= plain.failed;
    buf_destroy(&plain);
}

static void write_latex_table(struct buf *b, const struct table *t)
{
    buf_add_escaped(b, escape_latex, "\\begin{table}[htbp]\n\\caption{%s}\n", t->caption);
    buf_add(b, "\\centering\\footnotesize\\smallskip\n\\fitline{\\begin{tabular}{");
    for (size_t i = 0; i < t->ncolumns; i++)
        if (t->columns[i].shown)
            buf_add(b, t->columns[i].left ? "l" : "r");
    buf_add(b, "}\n");
    for (size_t row = 0; row < table_rows(t); row++) {
        const char *gap = row < 2 ? "\\hline\n%s" : "%s";
        for (size_t i = 0; i < t->ncolumns; i++)
            if (t->columns[i].shown) {
                buf_add_escaped(b, escape_latex, gap, table_cell(t, row, i));
                gap = " & %s";
            }
        buf_add(b, " \\\\\n");
    }
    buf_add(b, "\\hline\n\\end{tabular}}\n\\end{table}\n\n");
}

static void write_latex_figure(struct buf *b, const struct node *n)
{
    if (n->value == 0) {
        buf_addf(b, "%% There is no %s.pdf: make it from %s.svg, and include it here.\n\n", n->text,
                 n->text);
        return;
    }
    buf_addf(b, "\\begin{figure}[htbp]\n\\centering\n\\includegraphics{%s}\n", n->text);
    buf_add_escaped(b, escape_latex, "\\caption{%s}\n\\end{figure}\n\n", n->chart->caption);
}

static const struct syntax latex = {
    TO_LATEX, escape_latex,
    {"\\section{%s}\n\n", "\\subsection{%s}\n\n", "\\subsubsection{%s}\n\n"}, NULL, "\n\n", "%s:\n",
    {"\\begin{itemize}\n", "\\item %s\n", "\\end{itemize}\n\n"},
    {"\\textbf{%s}: %s\n\n", "\\textbf{%s} %s\n\n"},
    write_latex_table, write_latex_figure};

static void write_children(struct buf *b, const struct node *parent, const struct syntax *s,
                           int level);

static void write_node(struct buf *b, const struct node *n, const struct syntax *s, int level)
{
    const struct node *next = node_next(n, s->output);
    bool titled = *n->text && !(n->untitled & s->output);

    switch (n->kind) {
    case NODE_SECTION:
        if (titled)
            buf_add_escaped(b, s->escape, n->role == ROLE_VERDICT && s->verdict
                                            ? s->verdict : s->headings[level < 2 ? level : 2],
                          n->text);
        write_children(b, n, s, level + titled);
        break;
    case NODE_LIST:
        buf_add_escaped(b, s->escape, *n->text ? s->label : "", n->text);
        buf_add(b, s->list[0]);
        for (const struct node *item = node_first(n, s->output); item;
             item = node_next(item, s->output))
            buf_add_escaped(b, s->escape, s->list[1], item->text);
        buf_add(b, s->list[2]);
        break;
    case NODE_TERM:
    case NODE_TILE:
        buf_add_escaped(b, s->escape, s->term[strchr(n->text, '.') != NULL], n->text, n->more);
        buf_add(b, !next && s->output == TO_MARKDOWN ? "\n" : "");
        break;
    case NODE_TABLE: s->table(b, n->table); break;
    case NODE_FIGURE: s->figure(b, n); break;
    case NODE_SENTENCE:
        buf_add_escaped(b, s->escape, "%s", n->text);
        buf_add(b, next && next->kind == NODE_SENTENCE ? s->break_ : "\n\n");
        break;
    default: /* a text and no more */
        escape_lines(b, s->escape, n->text);
        buf_add(b, "\n");
    }
}

static void write_children(struct buf *b, const struct node *parent, const struct syntax *s,
                           int level)
{
    for (const struct node *n = node_first(parent, s->output); n; n = node_next(n, s->output))
        write_node(b, n, s, level);
}

void markdown_write(const struct doc *d, struct buf *b)
{
    if (*d->comment)
        buf_addf(b, "<!-- %s -->\n\n", d->comment);
    if (*d->title)
        buf_add_escaped(b, escape_markdown, "# %s: %s\n\n%s\n\n", d->title, d->heading, d->about);
    write_children(b, &d->root, &markdown, 0);
}

void latex_write(const struct doc *d, struct buf *b)
{
    buf_addf(b, "%% Made by unetctl report on %s: \\input it into a document with\n%% "
             "\\usepackage[T1]{fontenc}, \\usepackage[utf8]{inputenc} and \\usepackage{graphicx}, "
             "which\n%% makes tables as narrow as the line; they compile without it, "
             "too.\n\\providecommand{\\fitline}[1]{\\sbox0{#1}\\ifdim\\wd0>\\linewidth\n  "
             "\\ifdefined\\resizebox\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n  "
             "\\else\\usebox0\\fi}\n\n", d->created);
    if (*d->comment)
        buf_addf(b, "%% %s\n\n", d->comment);
    write_children(b, &d->root, &latex, 0);
}
