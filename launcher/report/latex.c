/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/latex.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/report/tables.h"
#include "src/atomicfile.h"

static void add_table(struct buf *b, struct table *t)
{
    if (t->ncells)
        table_encode_latex(t, b);
    b->failed |= t->failed;
    table_destroy(t);
}

int latex_write(const struct report *r, const char *path, struct err *e)
{
    static tables_fill_f *const tables[] = {tables_fill_short, tables_fill_quality,
                                            tables_fill_parts, tables_fill_models,
                                            tables_fill_convergence, tables_fill_levels, NULL};
    struct buf b = {0};
    char *text;
    int rc;

    buf_addf(&b,
             "%% Made by unetctl report on %s: \\input it into a document with\n"
             "%% \\usepackage[T1]{fontenc}, \\usepackage[utf8]{inputenc} and \\usepackage{graphicx}, which\n"
             "%% makes tables as narrow as the line; they compile without it, too.\n"
             "\\providecommand{\\fitline}[1]{\\sbox0{#1}\\ifdim\\wd0>\\linewidth\n"
             "  \\ifdefined\\resizebox\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n"
             "  \\else\\usebox0\\fi}\n\n",
             r->created);
    tables_add(&b, r, tables, add_table);
    text = buf_steal(&b);
    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for %s", path);
    rc = atomicfile_write(path, text, strlen(text), 0666, e);
    free(text);
    return rc;
}
