/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/latex.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/report/tables.h"
#include "src/atomicfile.h"

static void add_table(struct buf *b, struct table *t)
{
    table_encode_latex(t, b);
    b->failed |= t->failed;
    table_destroy(t);
}

int latex_write(const struct report *r, const char *path, struct err *e)
{
    struct buf b = {0};
    struct table t;
    char *text;
    int rc;

    buf_addf(&b, "%% Made by unetctl report on %s: \\input it into a document with\n"
                 "%% \\usepackage[T1]{fontenc} and \\usepackage[utf8]{inputenc}. Nothing else is needed.\n\n",
             r->created);
    for (size_t i = 0; i < r->nseries; i++) {
        const struct report_series *s = &r->series[i];
        tables_fill_speed(&t, &s->scaling, s->label);
        add_table(&b, &t);
        tables_fill_quality(&t, &s->scaling, s->label);
        add_table(&b, &t);
        if (tables_has_parts(&s->scaling)) {
            tables_fill_parts(&t, &s->scaling, s->label);
            add_table(&b, &t);
        }
    }
    text = buf_steal(&b);
    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for %s", path);
    rc = atomicfile_write(path, text, strlen(text), 0666, e);
    free(text);
    return rc;
}
