/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/markup/escape.h"

#include "t/tap.h"

static void check(void (*escape)(struct buf *, const char *), const char *text, const char *want,
                  const char *what)
{
    struct buf b = {0};

    escape(&b, text);
    is_str(b.data, want, "%s", what);
    buf_destroy(&b);
}

int main(void)
{
    check(escape_html, "a<b>&\"$(x)'", "a&lt;b&gt;&amp;&quot;$(x)&#39;", "html: markup and quotes");
    check(escape_html, "n\xc3\xa4" "x\n\x1b[0m", "n\xc3\xa4x  [0m",
          "html: UTF-8 stays, controls go");
    check(escape_html, "\xff\xc0\x80\xed\xa0\x80\xe2\x82", "????????", "html: what is no UTF-8");
    check(escape_html, "\xc2\x9b" "31m", " 31m", "html: a C1 control");
    check(escape_markdown, "a|b_c*<i>`x`[1]", "a\\|b\\_c\\*&lt;i&gt;\\`x\\`\\[1\\]", "markdown");
    check(escape_latex, "50% of a_b & {c} \\input~^$#<|>",
          "50\\% of a\\_b \\& \\{c\\} "
          "\\textbackslash{}input\\textasciitilde{}\\textasciicircum{}"
          "\\$\\#\\textless{}\\textbar{}\\textgreater{}", "latex");
    check(escape_latex, "\xc3\xa4\xe4\xb8\xad\n-\"`",
          "\xc3\xa4? -\\textquotedbl{}\\textasciigrave{}", "latex: letters it has not");
    check(escape_latex, "-0.5..-0.25 speed-up a--b x-1", "$-$0.5..$-$0.25 speed-up a{-}{-}b x-1",
          "latex: minus");
    check(escape_plain, "a<b>\t\x80", "a<b> ?", "plain");

    struct buf b = {0};
    escape_format(&b, escape_html, "<i>%s</i>%s %", "<", "&");
    is_str(b.data, "<i>&lt;</i>&amp; %", "characters of a format are not escaped");
    buf_destroy(&b);
    b = (struct buf){0};
    escape_lines(&b, escape_html, "a\n<b>\n", "- ", ";");
    is_str(b.data, "- a;- &lt;b&gt;;", "each line is escaped");
    buf_destroy(&b);
    return done_testing();
}
