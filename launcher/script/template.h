/* SPDX-License-Identifier: BSD-3-Clause */
/* Templates of scripts: text with {{name}} markers.
 *
 *   {{name}}          the value as it is: code, numbers, ids
 *   {{name|sh}}       one shell word: bare where that is safe, else in single quotes
 *
 * A line that holds nothing but a marker with an empty value is left out. A marker without a value,
 * a value that is not optional without a marker, and "{{" without "}}" are errors, with FILE:LINE.
 *
 * The templates of the reference systems have tags instead: whole words tag_NAME, and the whole
 * word setup.sh. They are known where a value of that name is. How a tag is quoted the template
 * alone knows, so only values that need no quotes may replace one. */
#ifndef UNETCTL_LAUNCHER_SCRIPT_TEMPLATE_H
#define UNETCTL_LAUNCHER_SCRIPT_TEMPLATE_H

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

/* The same in two steps, for templates that people write: here nothing must be used, tags are
 * replaced, and used[i] tells that values[i] was. An unknown tag_NAME is an error. */
#define TEMPLATE_VALUES_MAX 96
int template_expand(const char *file, const char *text, const struct template_value *values,
                    bool used[TEMPLATE_VALUES_MAX], struct buf *dst, struct err *e);

/* Has the text tags? */
bool template_has_tags(const char *text);

/* The number of lines of text, which is the line that an error about something missing names. */
size_t template_count_lines(const char *text);

/* Add text as one word of sh. */
void template_quote_sh(struct buf *dst, const char *text);

#endif
