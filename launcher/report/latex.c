/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/latex.h"

#include "launcher/report/tables.h"

char *latex_encode(const struct report *r)
{
    static tables_fill_f *const tables[] = {tables_fill_short, tables_fill_quality,
                                            tables_fill_parts, tables_fill_models,
                                            tables_fill_convergence, tables_fill_levels, NULL};
    struct buf b = {0};

    buf_addf(&b,
             "%% Made by unetctl report on %s: \\input it into a document with\n"
             "%% \\usepackage[T1]{fontenc}, \\usepackage[utf8]{inputenc} and "
             "\\usepackage{graphicx}, which\n"
             "%% makes tables as narrow as the line; they compile without it, too.\n"
             "\\providecommand{\\fitline}[1]{\\sbox0{#1}\\ifdim\\wd0>\\linewidth\n"
             "  \\ifdefined\\resizebox\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n"
             "  \\else\\usebox0\\fi}\n\n",
             r->created);
    tables_add(&b, r, tables, table_encode_latex);
    return buf_steal(&b);
}
