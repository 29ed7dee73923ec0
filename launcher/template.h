/* SPDX-License-Identifier: BSD-3-Clause */
/* Templates of scripts: text with {{name}} markers.
 *
 *   {{name}}          the value as it is: code, numbers, ids
 *   {{name|sh}}       one shell word: bare where that is safe, else in single quotes
 *
 * A line that holds nothing but a marker with an empty value is left out. A marker without a value,
 * a value that is not optional without a marker, and "{{" without "}}" are errors, with FILE:LINE. */
#ifndef UNETCTL_LAUNCHER_TEMPLATE_H
#define UNETCTL_LAUNCHER_TEMPLATE_H

#include <stdbool.h>

#include "src/buf.h"
#include "src/err.h"

struct template_value {
    const char *name; /* NULL ends a list */
    const char *value;
    bool optional;
};

/* Render text (file is its name in errors) to dst. 0, or -1 with ERR_CONFIG. A value with a newline
 * is refused where it is quoted: no script can hold it readably, and no directive at all. */
int template_render(const char *file, const char *text, const struct template_value *values,
                    struct buf *dst, struct err *e);

/* The same for the template file NAME below templates/, e.g. "embedded/run_file.sh". The caller
 * frees the text; NULL with ERR_CONFIG. */
char *template_render_file(const char *name, const struct template_value *values, struct err *e);

/* Add text as one word of sh. */
void template_quote_sh(struct buf *dst, const char *text);

#endif
