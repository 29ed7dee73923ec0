/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/document.h"

#include <math.h>

#include "launcher/report/chart.h"
#include "t/tap.h"

static void check_escape(escape_f *escape, const char *text, const char *want, const char *what)
{
    struct buf b = {0};

    escape(&b, text);
    is_str(b.data, want, "%s", what);
    buf_destroy(&b);
}

static void check_escapes(void)
{
    check_escape(escape_html, "a<b>&\"$(x)'", "a&lt;b&gt;&amp;&quot;$(x)&#39;", "html: markup and quotes");
    check_escape(escape_html, "n\xc3\xa4" "x\n\x1b[0m", "n\xc3\xa4x  [0m",
          "html: UTF-8 stays, controls go");
    check_escape(escape_html, "\xff\xc0\x80\xed\xa0\x80\xe2\x82", "????????", "html: what is no UTF-8");
    check_escape(escape_html, "\xc2\x9b" "31m", " 31m", "html: a C1 control");
    check_escape(escape_markdown, "a|b_c*<i>`x`[1]", "a\\|b\\_c\\*&lt;i&gt;\\`x\\`\\[1\\]", "markdown");
    check_escape(escape_latex, "50% of a_b & {c} \\input~^$#<|>",
          "50\\% of a\\_b \\& \\{c\\} "
          "\\textbackslash{}input\\textasciitilde{}\\textasciicircum{}"
          "\\$\\#\\textless{}\\textbar{}\\textgreater{}", "latex");
    check_escape(escape_latex, "\xc3\xa4\xe4\xb8\xad\n-\"`",
          "\xc3\xa4? -\\textquotedbl{}\\textasciigrave{}", "latex: letters it has not");
    check_escape(escape_latex, "-0.5..-0.25 speed-up a--b x-1", "$-$0.5..$-$0.25 speed-up a{-}{-}b x-1",
          "latex: minus");
    check_escape(escape_plain, "a<b>\t\x80", "a<b> ?", "plain");

    struct buf b = {0};
    buf_add_escaped(&b, escape_html, "<i>%s</i>%s %", "<", "&");
    is_str(b.data, "<i>&lt;</i>&amp; %", "characters of a format are not escaped");
    buf_destroy(&b);
    b = (struct buf){0};
    escape_lines(&b, escape_html, "a\n<b>\n");
    is_str(b.data, "a\n&lt;b&gt;\n", "each line is escaped");
    buf_destroy(&b);
}

static void add_table(struct doc *d)
{
    struct table t;

    table_init(&t, "Runs <%s>", "all");
    table_text(&t, "run", "a|%s", "b");
    table_number(&t, "IoU", 0.98765, 3);
    table_number(&t, "s", NAN, 3);
    table_percent(&t, "share", 0.5);
    table_text(&t, "run", "<c>");
    table_number(&t, "IoU", NAN, 3);
    table_number(&t, "s", INFINITY, 3);
    table_percent(&t, "share", NAN);
    ok(!t.failed, "cells are added");
    doc_table(d, ~0u, &t);
    table_init(&t, "nothing");
    doc_table(d, ~0u, &t);
}

static void check_document(const struct doc *d, doc_write_f *write, const char *end,
                           const char *what)
{
    char *text = doc_encode(d, write);
    size_t n = strlen(text ? text : ""), nend = strlen(end);

    is_str(text && n >= nend ? text + n - nend : "", end, "%s", what);
    free(text);
}

static void check_tables(void)
{
    const struct text_form form = {.columns = 80};
    struct buf b = {0};
    struct doc d;

    doc_init(&d);
    add_table(&d);
    check_document(&d, html_write,
          "<div class=\"wide\" tabindex=\"0\"><table>\n<caption>Runs &lt;all&gt;</caption>\n"
          "<thead><tr><th scope=\"col\" class=\"left\">run</th><th scope=\"col\">IoU</th>"
          "<th scope=\"col\">share</th></tr></thead>\n<tbody>\n"
          "<tr><th scope=\"row\" class=\"left\">a|b</th><td>0.988</td><td>50 %</td></tr>\n"
          "<tr><th scope=\"row\" class=\"left\">&lt;c&gt;</th><td>-</td><td>-</td></tr>\n"
          "</tbody></table></div>\n</main>\n<footer></footer>\n</body>\n</html>\n",
          "a table in HTML, without the column in which nothing is known");
    check_document(&d, markdown_write,
          "*Runs &lt;all&gt;*\n\n| run | IoU | share |\n| :-- | --: | --: |\n"
          "| a\\|b | 0.988 | 50 % |\n| &lt;c&gt; | - | - |\n\n", "in Markdown");
    check_document(&d, latex_write,
          "\\begin{table}[htbp]\n\\caption{Runs \\textless{}all\\textgreater{}}\n"
          "\\centering\\footnotesize\\smallskip\n\\fitline{\\begin{tabular}{lrr}\n\\hline\nrun & "
          "IoU & share \\\\\n\\hline\na\\textbar{}b & 0.988 & 50 \\% \\\\\n"
          "\\textless{}c\\textgreater{} & - & - \\\\\n\\hline\n"
          "\\end{tabular}}\n\\end{table}\n\n", "in LaTeX");
    text_write(&d, &form, &b);
    is_str(b.data, "Runs <all>\nrun    IoU  share\na|b  0.988   50 %\n<c>      -      -\n",
           "on a terminal: columns are aligned");
    buf_destroy(&b);
    doc_destroy(&d);
}

/* A document with a node of each kind but tables and figures. */
static void build(struct doc *d)
{
    const unsigned all = TO_PAGES | TO_TEXT | TO_LATEX;

    doc_init(d);
    doc_begin(d, ROLE_VERDICT, all, "Use <%d>", 2);
    doc_lines(d, all, "One & one.\nTwo.\n");
    doc_list(d, all, "But", "a_b\nc\n");
    doc_end(d);
    doc_begin(d, ROLE_PLAIN, all, "Terms")->untitled = TO_TEXT;
    doc_term(d, all, "speed", "fast");
    doc_add(d, NODE_SENTENCE, TO_HTML, "%s", "of a page only");
    doc_end(d);
    doc_begin(d, ROLE_PLAIN, all, "Nothing");
    doc_add(d, NODE_SENTENCE, 0, "%s", "nowhere");
    doc_end(d);
    doc_add(d, NODE_PARAGRAPH, all, "%s", "A.\nB.\n");
}

static void check_nodes(void)
{
    const struct text_form form = {.columns = 80};
    struct buf b = {0};
    struct doc d;

    build(&d);
    check_document(&d, html_write,
          "<section class=\"verdict\">\n<h2>Use &lt;2&gt;</h2>\n<p>One &amp; one.</p>\n<p>Two.</p>\n"
          "<p><strong>But</strong></p>\n<ul>\n<li>a_b</li>\n<li>c</li>\n</ul>\n</section>\n"
          "<h2>Terms</h2>\n<dt>speed</dt><dd>fast</dd>\n<p>of a page only</p>\n<p>A. B. </p>\n"
          "</main>\n<footer></footer>\n</body>\n</html>\n",
          "a document in HTML, without an empty section");
    check_document(&d, markdown_write,
          "**Use &lt;2&gt;**\n\nOne &amp; one.  \nTwo.\n\nBut:\n\n- a\\_b\n- c\n\n## Terms\n\n"
          "- **speed**: fast\n\nA.\nB.\n\n", "in Markdown");
    check_document(&d, latex_write,
          "\\section{Use \\textless{}2\\textgreater{}}\n\nOne \\& one.\n\nTwo.\n\nBut:\n"
          "\\begin{itemize}\n\\item a\\_b\n\\item c\n\\end{itemize}\n\n\\section{Terms}\n\n"
          "\\textbf{speed}: fast\n\nA.\nB.\n\n", "in LaTeX");
    text_write(&d, &form, &b);
    is_str(b.data, "Use <2>\nOne & one.\nTwo.\nBut: a_b\nBut: c\n\nspeed fast\n\nA. B.\n",
           "on a terminal");
    buf_destroy(&b);
    doc_destroy(&d);
}

int main(void)
{
    check_escapes();
    check_tables();
    check_nodes();
    return done_testing();
}
