/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/document.h"

#include <stdio.h>
#include <string.h>

#include "launcher/report/chart.h"
#include "src/text/utf8.h"

#define add(b, ...) escape_format(b, escape_latex, __VA_ARGS__)

static const char *replace(char c, char scratch[8])
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
        const char *other = n == 1 ? replace(*p, scratch) : p[0] == '\xc3' ? NULL : "?";
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

/* Adds a line as it is, but for '?' where the document's fonts lack a character, and a blank that
 * keeps a line from ending the environment. */
static void escape_verbatim(struct buf *b, const char *line)
{
    struct buf plain = {0};

    escape_plain(&plain, line);
    for (const char *p = plain.data ? plain.data : ""; *p; p++)
        buf_addf(b, "%c%s", *p & 0x80 ? '?' : *p,
                 strncmp(p, "\\end{verbatim}", 14) == 0 ? " " : "");
    b->failed |= plain.failed;
    buf_destroy(&plain);
}

static void write_table(struct buf *b, const struct table *t)
{
    add(b, "\\begin{table}[htbp]\n\\caption{%s}\n", t->caption);
    buf_add(b, "\\centering\\footnotesize\\smallskip\n\\fitline{\\begin{tabular}{");
    for (size_t i = 0; i < t->ncolumns; i++)
        if (t->columns[i].shown)
            buf_add(b, t->columns[i].left ? "l" : "r");
    buf_add(b, "}\n");
    for (size_t row = 0; row < table_rows(t); row++) {
        const char *gap = row < 2 ? "\\hline\n%s" : "%s";
        for (size_t i = 0; i < t->ncolumns; i++)
            if (t->columns[i].shown) {
                add(b, gap, table_cell(t, row, i));
                gap = " & %s";
            }
        buf_add(b, " \\\\\n");
    }
    buf_add(b, "\\hline\n\\end{tabular}}\n\\end{table}\n\n");
}

static void write_children(struct buf *b, const struct node *parent, int level);

static void write_section(struct buf *b, const struct node *n, int level)
{
    static const char *const headings[] = {"\\section{%s}\n\n", "\\subsection{%s}\n\n",
                                           "\\subsubsection{%s}\n\n", "\\paragraph{%s} "};
    bool titled = *n->text && !(n->untitled & TO_LATEX);

    if (titled)
        add(b, headings[level < 3 ? level : 3], n->text);
    write_children(b, n, level + titled);
}

static void write_node(struct buf *b, const struct node *n, int level)
{
    switch (n->kind) {
    case NODE_SECTION: write_section(b, n, level); break;
    case NODE_SENTENCE:
    case NODE_PARAGRAPH:
    case NODE_PROGRESS:
        escape_lines(b, escape_latex, n->text, "");
        buf_add(b, "\n");
        break;
    case NODE_LIST:
        add(b, *n->text ? "%s:\n" : "", n->text);
        buf_add(b, "\\begin{itemize}\n");
        for (const struct node *item = node_first(n, TO_LATEX); item;
             item = node_next(item, TO_LATEX))
            add(b, "\\item %s\n", item->text);
        buf_add(b, "\\end{itemize}\n\n");
        break;
    case NODE_TERM:
    case NODE_TILE: add(b, "\\textbf{%s}: %s\n\n", n->text, n->more); break;
    case NODE_TABLE: write_table(b, n->table); break;
    case NODE_FIGURE:
        if (n->value == 0) {
            buf_addf(b, "%% There is no %s.pdf: make it from %s.svg, and include it here.\n\n",
                     n->text, n->text);
            break;
        }
        buf_addf(b, "\\begin{figure}[htbp]\n\\centering\n\\includegraphics{%s}\n", n->text);
        add(b, "\\caption{%s}\n\\end{figure}\n\n", n->chart->caption);
        break;
    case NODE_PICTURE: break;
    case NODE_CODE:
        buf_add(b, "{\\scriptsize\n\\begin{verbatim}\n");
        escape_lines(b, escape_verbatim, n->text, "");
        buf_add(b, "\\end{verbatim}\n}\n\n");
        break;
    }
}

static void write_children(struct buf *b, const struct node *parent, int level)
{
    for (const struct node *n = node_first(parent, TO_LATEX); n; n = node_next(n, TO_LATEX))
        write_node(b, n, level);
}

void latex_write(const struct doc *d, struct buf *b)
{
    buf_addf(b, "%% Made by unetctl report on %s: \\input it into a document with\n"
             "%% \\usepackage[T1]{fontenc}, \\usepackage[utf8]{inputenc} and "
             "\\usepackage{graphicx}, which\n"
             "%% makes tables as narrow as the line; they compile without it, too.\n"
             "\\providecommand{\\fitline}[1]{\\sbox0{#1}\\ifdim\\wd0>\\linewidth\n"
             "  \\ifdefined\\resizebox\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n"
             "  \\else\\usebox0\\fi}\n\n", d->created);
    if (*d->comment)
        buf_addf(b, "%% %s\n\n", d->comment);
    write_children(b, &d->root, 0);
}
