/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/markup/table.h"

#include <math.h>

#include "t/tap.h"

static void check(void (*encode)(const struct table *, struct buf *), const struct table *t,
                  const char *want, const char *what)
{
    struct buf b = {0};

    encode(t, &b);
    is_str(b.data, want, "%s", what);
    buf_destroy(&b);
}

int main(void)
{
    struct table t;

    table_init(&t, "Runs <%s>", "all");
    table_add_text(&t, "run", "a|%s", "b");
    table_add_number(&t, "IoU", 0.98765, 3);
    table_add_number(&t, "s", NAN, 3);
    table_add_text(&t, "run", "<c>");
    table_add_number(&t, "IoU", NAN, 3);
    table_add_number(&t, "s", INFINITY, 3);
    ok(!t.failed, "cells are added");
    check(table_encode_html, &t,
          "<div class=\"wide\" tabindex=\"0\"><table>\n<caption>Runs &lt;all&gt;</caption>\n"
          "<thead><tr><th scope=\"col\" class=\"left\">run</th><th "
          "scope=\"col\">IoU</th></tr></thead>\n"
          "<tbody>\n<tr><th scope=\"row\" class=\"left\">a|b</th><td>0.988</td></tr>\n"
          "<tr><th scope=\"row\" "
          "class=\"left\">&lt;c&gt;</th><td>-</td></tr>\n</tbody></table></div>\n",
          "html, without the column that nobody knows");
    check(table_encode_markdown, &t,
          "*Runs &lt;all&gt;*\n\n| run | IoU |\n| :-- | --: |\n| a\\|b | 0.988 |\n"
          "| &lt;c&gt; | - |\n\n",
          "markdown");
    check(table_encode_latex, &t,
          "\\begin{table}[htbp]\n\\caption{Runs \\textless{}all\\textgreater{}}\n"
          "\\centering\\footnotesize\\smallskip\n\\fitline{\\begin{tabular}{lr}\n\\hline\nrun & "
          "IoU \\\\\n\\hline\n"
          "a\\textbar{}b & 0.988 \\\\\n\\textless{}c\\textgreater{} & - \\\\\n\\hline\n"
          "\\end{tabular}}\n\\end{table}\n\n", "latex");
    check(table_encode_text, &t, "run    IoU\na|b  0.988\n<c>      -\n",
          "text: columns are aligned");
    table_destroy(&t);
    return done_testing();
}
